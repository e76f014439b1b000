"""The figures of Spark."""

from streambed.reports.figure import Absent, Figure
from streambed.reports.figures import spark
from tests.support.synthetic import history_of, sent
from tests.support.synthetic_events import at, event

LOAD = event(0.5, "phase", phase="load")


def batch(number: int, end: float, *, upto: int, **fields):
    return event(
        end,
        "batch",
        component="counter",
        query="q",
        batch=number,
        start=at(end - 0.5),
        end=at(end),
        rows=2,
        offsets={"lines": {"0": [upto - 2, upto]}},
        **fields,
    )


def test_a_job_is_behind_by_the_acked_records_that_no_finished_batch_has_read():
    records = tuple(sent(number, due=1 + 0.1 * number) for number in range(4))
    history = history_of(LOAD, batch(0, 3.0, upto=2), batch(1, 5.5, upto=4), sent=records)

    lag = spark.job_lag(history)

    # All four are acked by second 1.4 of the run; batches read two of them each.
    assert lag["records"].to_list() == [1.0, 4.0, 2.0, 2.0, 2.0]


def test_rates_are_those_that_spark_reports():
    history = history_of(LOAD, batch(0, 3.0, upto=2, input_per_s=10.0, processed_per_s=40.0))

    figure = spark.rates(history)

    assert isinstance(figure, Figure)
    assert dict(figure.table.select("series", "per_s").iter_rows()) == {
        "counter input": 10.0,
        "counter processed": 40.0,
    }


def test_a_watermark_gives_the_lag_of_event_time_and_the_rows_dropped():
    times = {"event_time_max_ns": 9 * 10**9, "watermark_ns": 4 * 10**9}
    history = history_of(LOAD, batch(0, 3.0, upto=2, **times, late_rows=3, state_rows=1))

    figure = spark.event_time(history)

    assert isinstance(figure, Figure)
    assert figure.table["event_time_lag_s"].to_list() == [5.0]
    assert "later than the watermark: 3." in figure.caption


def test_constant_state_is_one_line():
    history = history_of(
        LOAD, *(batch(n, 3.0 + n, upto=2 + 2 * n, state_rows=8, late_rows=0) for n in range(2))
    )

    figure = spark.state(history)

    assert isinstance(figure, Absent)
    assert figure.reason == "8 throughout; rows dropped as late: 0."


def test_a_restart_of_the_driver_is_marked_and_breaks_the_lines():
    driver = {"process": "counter", "component": "counter", "node": "n"}
    history = history_of(
        LOAD,
        event(1, "process_started", **driver),
        *(batch(n, 3.0 + n, upto=2 + 2 * n, state_rows=n, late_rows=0) for n in range(3)),
        event(4.5, "process_started", **driver, incarnation=2),
    )

    figure = spark.state(history)

    assert spark.restarts(history)["says"].to_list() == ["counter restarted"]
    assert isinstance(figure, Figure)
    (line,) = [
        layer
        for layer in figure.plain_spec()["layer"]
        if layer["mark"]["type"] == "rule" and "moment" in layer["mark"].get("style", "")
    ]
    assert [row["time_s"] for row in line["data"]["values"]] == [4.0]


def test_a_run_without_spark_says_so_in_one_line():
    (figure,) = spark.figures(history_of())

    assert isinstance(figure, Absent)
