"""Two runs side by side, written by hand."""

from streambed.record.statistics import Difference
from streambed.results.comparison import Compared, compare
from streambed.results.declared import differences
from streambed.results.facts import count_facts
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


def test_a_clear_difference_is_described_in_a_plain_sentence():
    sentences = said(run_with(0.150), run_with(0.138))

    assert sentences["median latency of reader"].startswith(
        "B's median latency of reader is 12 ms (8 %) lower; 95 % interval "
    )
    assert not [name for name in sentences if "lost" in name]


def test_the_same_run_twice_differs_in_nothing():
    run = run_with(0.150)

    assert not [one for one in compare(run, run) if one.difference and one.difference.clear]


def test_lost_records_are_a_fact_and_never_chance():
    lost = count_facts(run_with(0.1, lost=tuple(range(5, 25))), run_with(0.1), ["lines"])
    facts = {fact.name: fact for fact in lost}

    fact = facts["lost records of lines"]
    assert (fact.a, fact.b, fact.differs) == ("20", "0", True)
    assert fact.says == "A lost 20 of 30 acknowledged records of lines, B lost 0 of 30"
    assert facts["acknowledged records of lines"].differs is False


def test_duplicates_are_counted_for_each_reader():
    once = run_with(0.1)
    twice = history_of(
        *(acked("lines", f"a={number}") for number in (1, 2)),
        *(seen("lines", f"a={number}", at=number + 0.1) for number in (1, 2, 2)),
        event(31, "phase", phase="heal"),
        components=COMPONENTS,
    )

    [fact] = [fact for fact in count_facts(once, twice, ["lines"]) if "duplicates" in fact.name]
    assert fact.says == "reader saw 0 duplicates of lines in A, 1 in B"


def test_of_a_topic_that_nobody_wrote_there_are_no_facts():
    silent = history_of(event(31, "phase", phase="heal"), components=COMPONENTS)

    assert list(count_facts(run_with(0.1), silent, ["lines"])) == []


def test_a_difference_that_chance_makes_often_is_not_clear():
    difference = Difference(a=1.0, b=2.8, low=0.0177, high=4.05, chance=0.187)
    compared = Compared(measure="p99 latency", unit="s", difference=difference)

    assert not compared.clear
    assert "which can be chance: p 0.187" in compared.says


def test_what_one_run_lacks_is_said_and_not_compared():
    empty = history_of(event(31, "phase", phase="heal"), components=COMPONENTS)

    assert (
        said(run_with(0.1), empty)["median latency of reader"]
        == "median latency of reader: not available (B: no record was seen by way of reader)"
    )


def test_a_difference_that_can_be_chance_says_so():
    compared = Compared(
        measure="median latency",
        unit="s",
        difference=Difference(a=0.1, b=0.105, low=-0.002, high=0.012, chance=0.2),
    )

    assert compared.says == (
        "B's median latency is 5 ms (5 %) higher, which can be chance: p 0.200, "
        "95 % interval -2 ms to 12 ms"
    )
    assert compared.cells == ("100 ms", "105 ms", "5 ms", "-2 ms to 12 ms", "0.200")


def test_a_run_of_few_seconds_gets_no_interval():
    compared = Compared(
        measure="throughput", unit="records/s", difference=Difference(a=10.0, b=12.0)
    )

    assert compared.says == (
        "B's throughput is 2 records/s (20 %) higher; too few observations for an interval"
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
        ("topology.links.1", "not given", "delay: 1ms"),
    ]


def test_a_component_that_only_one_declares_is_one_line():
    counter = {"kind": "spark_job", "node": "a", "job": "count.py", "settings": {"x": 1, "y": 2}}
    a = {"components": {"counter": counter, "db": {"kind": "redis", "port": 6379}}}
    b = {"components": {"db": {"kind": "mariadb", "port": 3306}}}

    assert differences(a, b) == [
        ("components.counter", "a spark_job", "not given"),
        ("components.db", "a redis", "a mariadb"),
    ]
