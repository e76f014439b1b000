"""The figures of latency."""

import pytest

from streambed.reports.figure import Absent, Figure
from streambed.reports.figures import latency
from tests.support.synthetic import history_of, seen, sent
from tests.support.synthetic_events import at, event


def test_latency_counts_from_due_to_first_seen():
    history = history_of(
        sent=(sent(1, due=1.0),), seen=(seen(1, 1.5, "reader"), seen(1, 9.0, "reader"))
    )

    assert latency.end_to_end(history).rows() == [("reader", 1.0, 0.5)]


def test_the_witness_has_no_latency():
    history = history_of(sent=(sent(1, due=1.0),), seen=(seen(1, 30.0, "witness"),))

    assert isinstance(latency.over_time(history), Absent)


def test_synchronisation_takes_the_slowest_subscriber():
    history = history_of(
        sent=(sent(1, due=1.0),),
        seen=(seen(1, 1.5, "a"), seen(1, 4.0, "b"), seen(1, 30.0, "witness")),
    )

    assert latency.records_all_saw(history).rows() == [("lines", 1.0, 3.0)]


def test_consumers_of_one_group_are_one_subscriber():
    history = history_of(
        sent=(sent(1, due=1.0),), seen=(seen(1, 1.5, "a", "team"), seen(1, 4.0, "b", "team"))
    )

    assert latency.records_all_saw(history)["latency_s"].to_list() == [0.5]


def test_a_record_that_a_declared_subscriber_never_saw_is_not_synchronised():
    components = {"late": {"kind": "consumer", "reads": ["lines"]}}
    history = history_of(sent=(sent(1, due=1.0),), seen=(seen(1, 1.5, "a"),), components=components)

    assert latency.records_all_saw(history).is_empty()


def test_percentiles_never_flatter():
    records = range(100)
    history = history_of(
        sent=tuple(sent(n, due=1.0) for n in records),
        seen=tuple(seen(n, 2.0 + n, "a") for n in records),
    )

    row = latency.percentiles(latency.end_to_end(history)).row(0, named=True)

    assert (row["records"], row["p50 s"], row["p99 s"], row["max s"]) == (100, 51.0, 100.0, 100.0)


def test_latency_through_spark_is_shown_beside_that_of_consumers():
    job = {
        "counter": {"kind": "spark_job", "job": "job.py", "reads": ["lines"], "writes": ["counts"]}
    }
    batch = event(
        3,
        "batch",
        component="counter",
        query="q",
        batch=0,
        start=at(2),
        end=at(3),
        offsets={"lines": {"0": [0, 5]}},
    )
    position = ("counts", 0, 0)
    output = ("reader", "readers", *position, None, None, at(3.5), 2_900, None, 1, 1, None)
    history = history_of(
        event(0, "clock", wall_ns=0),
        batch,
        sent=(sent(1, due=1.0),),
        seen=(output,),
        components=job,
    )

    assert latency.end_to_end(history).rows() == [("through counter", 1.0, 2.5)]


def test_the_distribution_ends_with_all_records():
    history = history_of(
        sent=(sent(1, 1.0), sent(2, 1.0)), seen=(seen(1, 1.5, "a"), seen(2, 2.0, "a"))
    )

    figure = latency.distribution(history)

    assert isinstance(figure, Figure)
    assert figure.table.row(-1) == ("a", 1.0, pytest.approx(1.0))
    assert figure.table.columns == ["to", "share", "latency_s"]
