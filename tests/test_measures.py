"""Measures of histories written by hand."""

from dataclasses import replace

import polars as pl
import pytest
from pydantic import ValidationError

from streambed.kinds.checks import Latency
from streambed.kinds.measures import Measure, NotTaken
from streambed.record.history import History, empty
from streambed.record.ledger import schemas
from streambed.reports.figures.latency import end_to_end
from streambed.results import frames
from streambed.units import Duration
from tests.support.histories import acked, batch, event, history_of, output, seen

READER = {
    "reader": {"kind": "consumer", "reads": ["lines"]},
    "a": {"kind": "producer", "writes": "lines"},
}
SECONDS_5 = Duration.parse("5s")


def load(*lines, until: float = 10, **more) -> History:
    return history_of(*lines, event(until, "phase", phase="heal"), **more)


def test_latency_counts_from_due_to_first_seen():
    history = load(
        acked("lines", "a=1"),
        seen("lines", "a=1", at=1.5),
        seen("lines", "a=1", at=3),
        components=READER,
    )

    assert Measure(latency="reader").take(history) == pytest.approx(0.5)


def test_records_due_during_the_warm_up_are_left_out_of_latency():
    history = load(
        acked("lines", "a=1"),
        seen("lines", "a=1", at=4),
        acked("lines", "a=6"),
        seen("lines", "a=6", at=6.25),
        components=READER,
    )

    assert Measure(latency="reader", statistic="max").take(history) == pytest.approx(3.0)
    assert Measure(latency="reader", statistic="max").take(history, SECONDS_5) == pytest.approx(
        0.25
    )


def test_throughput_is_records_seen_in_a_second_of_the_load():
    history = load(
        *(seen("lines", f"a={number}", at=number / 2) for number in range(1, 25)), components=READER
    )

    assert Measure(throughput="reader").take(history) == pytest.approx(2.0, abs=0.1)
    assert Measure(throughput="reader").take(history, SECONDS_5) == pytest.approx(2.2)


def test_throughput_of_a_producer_is_what_was_acked_and_of_a_job_what_it_took_in():
    taken = batch("job", 1, 2, lines=(0, 5))
    taken = replace(taken, rows=50)
    components = {**READER, "job": {"kind": "spark_job", "reads": ["lines"]}}
    history = load(
        *(acked("lines", f"a={number}") for number in range(1, 6)), taken, components=components
    )

    assert Measure(throughput="a").take(history) == pytest.approx(0.5)
    assert Measure(throughput="job").take(history) == pytest.approx(5.0)


def test_lost_is_the_number_of_acked_records_that_a_reader_never_saw():
    history = load(
        acked("lines", "a=1"),
        acked("lines", "a=2"),
        acked("lines", "a=3"),
        seen("lines", "a=1"),
        components=READER,
    )

    assert Measure(lost="lines").take(history) == 2.0
    assert Measure(lost="lines").take(history, SECONDS_5) == 2.0


def test_ready_is_the_time_until_the_load_or_until_a_component_answered():
    history = History(
        events=(
            event(0, "phase", phase="build"),
            event(2, "ready", component="kafka", seconds=2),
            event(3, "phase", phase="load"),
        )
    )

    assert Measure(ready="all").take(history) == 3.0
    assert Measure(ready="kafka").take(history) == 2.0


def test_cpu_is_what_all_processes_of_a_component_use_together():
    rows = [
        (second * 10**9, "process_cpu_s", f"kafka/{node}", second * 0.25)
        for second in range(1, 9)
        for node in ("one", "two")
    ]
    samples = pl.DataFrame(rows, schema=empty(schemas.SAMPLES).schema, orient="row")
    history = replace(load(components=READER), samples=samples)

    assert Measure(cpu="kafka").take(history) == pytest.approx(0.5)
    assert Measure(cpu="kafka/one").take(history) == pytest.approx(0.25)


@pytest.mark.parametrize(
    ("measure", "says"),
    [
        (Measure(latency="reader"), "no record was seen by way of reader"),
        (Measure(lost="lines"), "nothing was acked on lines"),
        (Measure(cpu="kafka"), "kafka ran under load for less than 2 s"),
        (Measure(ready="kafka"), "kafka was never ready"),
    ],
)
def test_what_was_not_recorded_is_not_taken_for_zero(measure, says):
    with pytest.raises(NotTaken, match=says):
        measure.take(load(components=READER))


def test_a_run_that_broke_under_load_gives_no_number():
    with pytest.raises(NotTaken, match="the run ended before its load did"):
        Measure(throughput="reader").take(
            history_of(seen("lines", "a=1"), components=READER, broken=True)
        )


def test_a_warm_up_as_long_as_the_load_leaves_nothing():
    with pytest.raises(NotTaken, match=r"the load lasted 4\.0 s, no longer than the warm-up"):
        Measure(throughput="reader").take(load(until=4), SECONDS_5)


def test_records_of_an_unreported_batch_count_as_late_as_possible():
    job = {"kind": "spark_job", "node": "engine", "reads": ["lines"], "writes": ["counts"]}
    history = load(
        *(acked("lines", f"a={number}") for number in (1, 2, 3)),
        replace(batch("counter", 1, 2, lines=(1, 2)), batch=0),
        replace(batch("counter", 8, 9, lines=(3, 4)), batch=2),
        output("counts", offset=0, written=1.5, at=1.6),
        output("counts", offset=1, written=5, at=5.2),
        output("counts", offset=2, written=6, at=6.2),
        output("counts", offset=3, written=8.5, at=8.6),
        components={"counter": job},
    )

    assert Measure(latency="counter", statistic="p50").take(history) == pytest.approx(4.2)
    spans = end_to_end(history)["latency_s"].to_list()
    assert sorted(spans) == pytest.approx([0.6, 4.2, 5.6])
    assert frames.latency(history, "counter")["seen"].null_count() == 1


@pytest.mark.parametrize("statistic", ["p50", "p90", "p95", "p99", "p999", "max"])
def test_a_measure_takes_the_percentiles_of_the_check_latency(statistic):
    lines = []
    for number in range(1, 1001):
        at = number + number / 1e3
        lines += [acked("lines", f"a={number}"), seen("lines", f"a={number}", at=at)]
    history = load(*lines, until=1001, components=READER)
    verdict = Latency(of="reader", max="2s").judge(history)

    measured_s = Measure(latency="reader", statistic=statistic).take(history)

    assert measured_s == pytest.approx(verdict.evidence[f"{statistic}_ns"] / 1e9)


@pytest.mark.parametrize(
    "keys", [{}, {"latency": "reader", "lost": "lines"}, {"lost": "lines", "statistic": "p99"}]
)
def test_a_measure_is_of_one_thing(keys):
    with pytest.raises(ValidationError):
        Measure(**keys)
