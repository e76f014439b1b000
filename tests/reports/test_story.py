"""The story: lanes on one time axis that begins with the load."""

from pathlib import Path

import polars as pl

from streambed.record.history import History
from streambed.reports import page
from streambed.reports.figure import Absent, Figure, time_axis
from streambed.reports.figures import kafka, processes, records, story
from tests.support.synthetic import history_of, seen, sent
from tests.support.synthetic_events import event

LOAD = event(10, "phase", phase="load")
STOP = event(30, "phase", phase="stop")
BROKER = {"process": "kafka/b1", "component": "kafka", "node": "b1"}


def leads(seconds: float, was: str, now: str):
    names = {"component": "kafka", "topic": "orders", "partition": 0, "was": was, "now": now}
    return event(seconds, "leader_changed", **names)


def killed(died: float, back: float):
    return (
        event(1, "process_started", **BROKER),
        event(died, "process_ended", **BROKER, status=-9, expected=False),
        event(back, "process_started", **BROKER, incarnation=2),
    )


def test_time_zero_is_the_start_of_the_load():
    history = history_of(LOAD, STOP, samples=((12, "lag_records", "reader", 7.0),))

    figure = records.lag(history)

    assert isinstance(figure, Figure)
    assert figure.table["time_s"].to_list() == [2.0]
    axis = time_axis(history).to_dict()
    assert axis["scale"]["domain"] == [0, 20.0]
    assert axis["title"] == "seconds since the load began"


def test_without_a_load_time_zero_is_the_start_of_the_run():
    assert time_axis(history_of()).to_dict()["title"] == "seconds since the run began"
    assert isinstance(story.story(history_of(), {}), Absent)


def test_a_leader_whose_process_is_dead_is_shown_as_dead():
    history = history_of(
        *killed(13.7, 16.7), leads(11, "", "b1"), leads(22, "b1", "b2"), LOAD, STOP
    )

    spans = kafka.leaders(history, 20.0).drop("component").rows()

    assert spans == [
        ("orders/0", "b1", 1.0, 3.7, False),
        ("orders/0", "b1", 3.7, 6.7, True),
        ("orders/0", "b1", 6.7, 12.0, False),
        ("orders/0", "b2", 12.0, 20.0, False),
    ]


def test_while_nobody_leads_the_lane_says_so():
    history = history_of(leads(11, "", "b1"), leads(14, "b1", ""), LOAD, STOP)

    assert kafka.leaders(history, 20.0)["leader"].to_list() == ["b1", kafka.NOBODY]


def test_no_line_is_drawn_across_the_death_of_a_process():
    seconds = [11, 12, 13, 17, 18, 19]
    history = history_of(
        *killed(13.2, 16.8),
        LOAD,
        STOP,
        samples=tuple((float(s), "process_rss_bytes", "kafka/b1", 2.0**20) for s in seconds),
    )

    figure = processes.memory(history)

    assert isinstance(figure, Figure)
    values = figure.plain_spec()["data"]["values"]
    assert [row["time_s"] for row in values if row["mib"] is None] == [3.001]


def test_the_read_back_is_neither_in_throughput_nor_in_lag():
    history = history_of(
        LOAD,
        STOP,
        samples=(
            (25, "seen_total", "witness", 0.0),
            (26, "seen_total", "witness", 3600.0),
            (26, "lag_records", "witness", 3600.0),
        ),
        sent=(sent(1, due=11),),
        seen=(seen(1, 26, "witness"),),
    )

    assert isinstance(records.record_rates(history), Absent)
    assert isinstance(records.lag(history), Absent)
    rates = story.record_rates(history, 1.0)
    assert set(rates["what"]) == {"sent", "acknowledged"}


def test_what_is_constant_is_one_line():
    nobody = tuple(
        (float(second), metric, "kafka", 0.0)
        for second in (11, 12)
        for metric in ("leaderless", "under_replicated")
    )
    behind = ((11.0, "lag_records", "reader", 0.0), (12.0, "lag_records", "reader", 0.0))
    history = history_of(LOAD, STOP, samples=(*nobody, *behind))

    replication, lag = kafka.replication(history), records.lag(history)

    assert isinstance(replication, Absent)
    assert "0 kafka leaderless, 0 kafka under-replicated" in replication.reason
    assert isinstance(lag, Absent)
    assert lag.reason == "0 records behind throughout, as far as the client knew: reader."


def test_counts_are_steps_with_whole_numbers():
    led = ((11, 1.0), (12, 1.0), (13, 0.0))
    history = history_of(
        LOAD, STOP, samples=tuple((s, "leads_partitions", "kafka/b1", value) for s, value in led)
    )

    figure = kafka.leadership(history)

    assert isinstance(figure, Figure)
    (line,) = [layer for layer in figure.plain_spec()["layer"] if layer["mark"]["type"] == "line"]
    assert line["mark"]["interpolate"] == "step-after"
    assert line["encoding"]["y"]["axis"]["values"] == [0, 1]
    assert "as the controller believes" in figure.caption


def test_the_story_has_a_lane_for_all_that_happened_and_one_cursor():
    history = _with_fault()

    figure = story.story(history, {"limit p99 reader 200 ms": 0.2})

    assert isinstance(figure, Figure)
    spec = figure.chart.to_dict(validate=True)
    # Faults, leaders, rates, latency and delivery; then the axis.
    assert len(spec["vconcat"]) == 6
    (cursor,) = [param for param in spec["params"] if param["name"] == "cursor"]
    assert len(cursor["views"]) == 6
    first = figure.table.filter(pl.col("time_s") == 4.5).row(0, named=True)
    assert (first["faults"], first["leaders"]) == ("F1 isolate b1", "orders/0 b1")
    assert (first["sent"], first["seen by reader"]) == (1.0, 0.0)


def _with_fault() -> History:
    return history_of(
        LOAD,
        leads(11, "", "b1"),
        leads(18, "b1", "b2"),
        event(14, "inject", fault=0, kind="isolate", target="b1", nodes=["b1"]),
        event(22, "heal", fault=0, kind="isolate"),
        event(29, "phase", phase="drain"),
        event(29.5, "drained"),
        STOP,
        sent=tuple(sent(second, due=second + 0.2) for second in range(10, 29)),
        seen=tuple(
            seen(second, max(second + 0.3, 22.5 if second >= 14 else 0), "reader")
            for second in range(10, 29)
        ),
        components={"reader": {"kind": "consumer", "reads": ["lines"]}},
    )


def test_rates_count_records_in_the_second_in_which_they_were_sent_acked_and_seen():
    rates = story.record_rates(_with_fault(), 1.0)

    seen_per_s = rates.filter(pl.col("what") == "seen by reader")["per_s"].to_list()
    assert seen_per_s[3:5] == [1.0, 0.0]
    assert seen_per_s[12] == 9.0
    assert sum(seen_per_s) == 19.0


def test_a_process_that_the_run_stopped_has_no_status_of_a_crash():
    stopped = event(29, "process_ended", **BROKER, status=-9, expected=True)

    lives = processes.lives(history_of(event(1, "process_started", **BROKER), stopped))

    assert lives["status"].to_list() == ["stopped by the run"]


def test_a_group_may_have_a_name_with_dots_and_brackets(tmp_path: Path):
    history = history_of(
        LOAD,
        STOP,
        sent=(sent(1, due=11), sent(2, due=12)),
        seen=(seen(1, 11.5, "a.b[0]"), seen(2, 12.5, "a.b[0]")),
    )
    figure = story.story(history, {})
    assert isinstance(figure, Figure)

    page.write_figure(figure, tmp_path, "run")

    assert "seen by a.b[0]" in (tmp_path / "story.svg").read_text()
