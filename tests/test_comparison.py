"""Two runs side by side, written by hand."""

from streambed.record.statistics import Difference
from streambed.results.comparison import Compared, compare, differences
from tests.support.histories import acked, event, history_of, seen

COMPONENTS = {
    "a": {"kind": "producer", "writes": "lines"},
    "reader": {"kind": "consumer", "reads": ["lines"]},
}


def run_with(latency_s: float, *, lost: tuple[int, ...] = ()):
    """Thirty seconds with a record each, somewhat uneven."""
    lines = []
    for number in range(1, 31):
        lines.append(acked("lines", f"a={number}"))
        if number not in lost:
            lines.append(seen("lines", f"a={number}", at=number + latency_s + number % 3 / 1000))
    return history_of(*lines, event(31, "phase", phase="heal"), components=COMPONENTS)


def said(a, b) -> dict[str, str]:
    return {one.measure: one.says for one in compare(a, b)}


def test_a_clear_difference_is_told_in_a_plain_sentence():
    found = said(run_with(0.150), run_with(0.138))

    assert found["median latency of reader"].startswith(
        "B's median latency of reader is 12 ms (8 %) lower; 95 % interval "
    )
    assert (
        found["number of lost records of lines"]
        == "number of lost records of lines: the same, 0 records"
    )


def test_the_same_run_twice_differs_in_nothing():
    run = run_with(0.150)

    assert not [one for one in compare(run, run) if one.difference and one.difference.clear]


def test_lost_records_are_compared():
    found = {
        one.measure: one for one in compare(run_with(0.1), run_with(0.1, lost=tuple(range(5, 25))))
    }

    assert found["number of lost records of lines"].says.startswith(
        "B's number of lost records of lines is 20 records higher; 95 % interval"
    )


def test_what_one_run_lacks_is_said_and_not_compared():
    empty = history_of(event(31, "phase", phase="heal"), components=COMPONENTS)

    assert (
        said(run_with(0.1), empty)["median latency of reader"]
        == "median latency of reader: B: no record was seen by way of reader"
    )


def test_a_difference_that_can_be_chance_says_so():
    compared = Compared(
        measure="median latency",
        unit="s",
        difference=Difference(a=0.1, b=0.105, low=-0.002, high=0.012, chance=0.2),
    )

    assert compared.says == (
        "B's median latency is 5 ms (5 %) higher, which can be chance: 95 % interval -2 ms to 12 ms"
    )
    assert compared.cells == ("100 ms", "105 ms", "5 ms", "-2 ms to 12 ms", "0.200")


def test_a_run_of_few_seconds_gets_no_interval():
    compared = Compared(
        measure="throughput", unit="records/s", difference=Difference(a=10.0, b=12.0)
    )

    assert compared.says == (
        "B's throughput is 2 records/s (20 %) higher; there are too few seconds to say how surely"
    )


def test_declarations_differ_by_their_keys():
    a = {"duration": "10s", "topology": {"links": [{"delay": "5ms"}]}, "faults": []}
    b = {
        "duration": "10s",
        "topology": {"links": [{"delay": "7ms"}, {"delay": "1ms"}]},
        "faults": (),
    }

    assert differences(a, b) == [
        ("topology.links.0.delay", "5ms", "7ms"),
        ("topology.links.1.delay", "not given", "1ms"),
    ]
