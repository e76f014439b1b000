"""The delivery heat map, and what else the report says of faults: timers, faults that could not be
injected.
"""

import polars as pl

from streambed.kinds.evidence.readers import Reader
from streambed.record.events import Drained, Phase
from streambed.record.history import History, Ledger, empty
from streambed.record.ledger import schemas
from streambed.reports import page
from streambed.reports.figure import Absent, Figure
from streambed.reports.figures import delivery, timeline
from tests.support.histories import (
    acked,
    behind,
    event,
    heal,
    history_of,
    inject,
    seen,
    sent,
    undrained,
    witnessed,
)

READER = {"reader": {"kind": "consumer", "reads": ["lines"]}}


def states(history: History, reader: Reader) -> dict[int, str]:
    return dict(
        delivery.fates(history, "lines", reader)
        .sort("sequence")
        .select("sequence", "state")
        .iter_rows()
    )


def drawn(figure: Figure | Absent) -> list[dict]:
    assert isinstance(figure, Figure)
    layers = figure.spec("run")["layer"]
    (cells,) = [
        layer["data"]["values"] for layer in layers if layer.get("encoding", {}).get("color")
    ]
    return cells


def test_every_record_has_one_state():
    history = history_of(
        acked("lines", "a=1"), seen("lines", "a=1"),
        acked("lines", "a=2"), seen("lines", "a=2"), seen("lines", "a=2"),
        acked("lines", "a=3"),
        sent("lines", "a=4"), seen("lines", "a=4"),
        components=READER,
    )  # fmt: skip

    states_by_record = states(history, Reader(name="reader", components=("reader",)))

    assert states_by_record == {1: "delivered", 2: "duplicated", 3: "lost", 4: "unacked"}


def test_what_a_late_reader_need_not_see_is_not_lost():
    history = history_of(
        acked("lines", "a=1"), acked("lines", "a=2"), seen("lines", "a=2"), components=READER
    )

    assert states(history, Reader(name="reader", components=("reader",), latest=True)) == {
        1: "undecided",
        2: "delivered",
    }


def test_what_a_reader_was_still_to_read_is_undecided():
    history = history_of(acked("lines", "a=1"), undrained(behind("reader")), components=READER)

    assert states(history, Reader(name="reader", components=("reader",))) == {1: "undecided"}


def test_the_witness_is_no_reader():
    history = history_of(
        acked("lines", "a=1"), seen("lines", "a=1"), witnessed("lines", "a=1"), components=READER
    )

    table, _ = delivery.records_by_step(history)

    assert table["reader"].to_list() == ["reader"]


def test_a_column_takes_the_worst_state_and_keeps_the_counts():
    records = [acked("lines", f"a={number}", due=number / 1000) for number in range(1000)]
    views = [seen("lines", f"a={number}") for number in range(1000) if number != 501]

    table, step = delivery.records_by_step(history_of(*records, *views, components=READER))

    (hit,) = table.filter(pl.col("lost") > 0).to_dicts()
    assert (step, hit["column"], hit["state"], hit["delivered"], hit["lost"]) == (
        0.1,
        5,
        "lost",
        99,
        1,
    )


def test_a_slow_producer_leaves_no_gaps():
    records = [acked("lines", f"a={number}", due=2.0 * number) for number in range(1, 40)]
    views = [seen("lines", f"a={number}") for number in range(1, 40)]

    (cell,) = drawn(delivery.heat_map(history_of(*records, *views, components=READER)))

    assert (cell["from_s"], cell["to_s"], cell["delivered"]) == (2.0, 80.0, 39)


def test_neighbours_of_one_state_are_one_rectangle():
    records = [acked("lines", f"a={number}") for number in range(1, 10)]
    views = [seen("lines", f"a={number}") for number in (1, 2, 3, 4, 8, 9)]

    cells = drawn(delivery.heat_map(history_of(*records, *views, components=READER)))

    assert [(cell["state"], cell["delivered"], cell["lost"]) for cell in cells] == [
        ("delivered", 4, 0),
        ("lost", 0, 3),
        ("delivered", 2, 0),
    ]


def test_the_producers_that_lost_most_are_drawn_and_the_caption_says_so():
    names = [f"p{number}" for number in range(8)]
    records = [
        acked("lines", f"{name}={number}", offset=10 * at + number)
        for at, name in enumerate(names)
        for number in range(3)
    ]
    views = [
        seen("lines", f"{name}={number}")
        for name in names
        for number in range(3)
        if (name, number) != ("p6", 1)
    ]

    figure = delivery.heat_map(history_of(*records, *views, components=READER))

    assert (
        next(iter(dict.fromkeys(cell["producer"] for cell in drawn(figure) if cell["lost"])))
        == "p6"
    )
    assert isinstance(figure, Figure)
    assert "Drawn are 5 of 8 producers" in figure.caption
    assert set(figure.table["producer"]) == set(names)


def test_faults_are_shaded_and_their_edges_drawn_over_the_cells():
    history = history_of(
        acked("lines", "a=1"),
        seen("lines", "a=1"),
        inject(3, "isolate"),
        heal(7, "isolate"),
        components=READER,
    )

    figure = delivery.heat_map(history)

    assert isinstance(figure, Figure)
    (rule,) = [layer for layer in figure.spec("run")["layer"] if layer["mark"]["type"] == "rule"]
    assert [row["from_s"] for row in rule["data"]["values"]] == [3.0, 7.0]


def test_the_names_of_faults_stand_above_the_names_of_producers():
    history = history_of(
        acked("lines", "a=1"), seen("lines", "a=1"), inject(3, "isolate"), components=READER
    )

    figure = delivery.heat_map(history)

    assert isinstance(figure, Figure)
    domains = [
        layer["encoding"]["y"]["scale"]["domain"]
        for layer in figure.spec("run")["layer"]
        if "domain" in layer.get("encoding", {}).get("y", {}).get("scale", {})
    ]

    assert domains
    assert all(domain[:2] == [" ", "lines\ta\t"] for domain in domains)


def test_without_records_or_readers_it_says_why():
    assert isinstance(delivery.heat_map(History()), Absent)
    assert isinstance(delivery.heat_map(history_of(acked("lines", "a=1"))), Absent)


def test_a_million_sightings_become_a_few_rectangles():
    number, readers = 100_000, [f"reader{index}" for index in range(10)]
    records = pl.DataFrame(
        {
            "producer": "a",
            "sequence": range(number),
            "topic": "lines",
            "partition": 0,
            "offset": range(number),
        }
    ).with_columns(
        due=pl.col("sequence") * 1_000_000,
        sent=pl.col("sequence") * 1_000_000,
        acked=pl.col("sequence") * 1_000_000,
        error=pl.lit(None),
        key=pl.lit(None),
        outcome=pl.lit(0),
        life=pl.lit(1),
        transaction=pl.lit(None),
    )
    views = records.select(
        *("topic", "partition", "offset", "producer", "sequence"),
        seen=pl.col("due") + 5,
        timestamp=pl.lit(0),
        key=pl.lit(None),
        life=pl.lit(1),
        tenure=pl.lit(1),
        transaction=pl.lit(None),
    ).join(pl.DataFrame({"consumer": readers, "group": readers}), how="cross")  # fmt: skip
    ledger = Ledger(
        sent=records.select(empty(schemas.SENT).columns).cast(dict(empty(schemas.SENT).schema)),
        seen=views.select(empty(schemas.SEEN).columns).cast(dict(empty(schemas.SEEN).schema)),
    )
    ends = (Phase(time=0, phase="load"), Phase(time=10**11, phase="drain"), Drained(time=10**11))

    figure = delivery.heat_map(History(events=ends, ledger=ledger))

    assert isinstance(figure, Figure)
    assert (
        figure.table["delivered"].sum(),
        figure.table.filter(pl.col("reader") == "reader0").height,
    ) == (10 * number, 200)
    assert len(drawn(figure)) == len(readers)


def test_timers_are_shown_as_they_were_recorded():
    session = {"of": "kafka", "name": "broker.session.timeout.ms", "value": 9000, "declared": False}

    assert page.timers(history_of(event(0, "timers", timers=[session]))).rows() == [
        ("kafka", "broker.session.timeout.ms", "9000", False)
    ]
    assert page.timers(history_of()).is_empty()


def test_a_fault_that_could_not_be_injected_is_marked_on_the_timeline():
    failed = event(
        3,
        "inject_failed",
        fault=0,
        kind="isolate",
        target="leader of lines/0",
        reason="lines/0 has no leader",
    )

    assert timeline.moments(history_of(failed)).rows() == [
        ("notes", "inject failed", 3.0, 3.0, "isolate leader of lines/0: lines/0 has no leader")
    ]
