"""A run as data frames for people: seconds of the load first, raw times last."""

from __future__ import annotations

from datetime import timedelta

import polars as pl
import pytest

from streambed.results import frames, runs
from tests.support.histories import acked, history_of, seen, sent
from tests.support.made_runs import make_run

SECOND = 10**9


@pytest.fixture
def history():
    return history_of(
        acked("lines", "a=1"),
        acked("lines", "a=2"),
        sent("lines", "a=3"),
        seen("lines", "a=1", at=1.25),
        components={"reader": {"kind": "consumer", "node": "x", "reads": ["lines"]}},
    )


def test_sent_begins_with_the_second_of_the_load_and_ends_with_raw_times(history):
    frame = frames.sent(history)

    assert frame.columns[:5] == ["t", "topic", "producer", "sequence", "ack_after"]
    assert frame.columns[-3:] == ["due", "sent", "acked"]
    assert frame["t"].to_list() == [1.0, 2.0, 3.0]
    assert frame["ack_after"].to_list() == [timedelta(seconds=0.1)] * 2 + [None]


def test_seen_has_the_latency_of_each_record(history):
    frame = frames.seen(history)

    assert frame.columns[:4] == ["t", "consumer", "topic", "latency"]
    assert frame["t"].to_list() == [1.25]
    assert frame["latency"].to_list() == [timedelta(seconds=0.25)]
    assert isinstance(frame.schema["timestamp"], pl.Datetime)


def test_lost_names_each_acked_record_that_a_reader_never_saw(history):
    frame = frames.lost(history)

    assert frame.select("t", "reader", "producer", "sequence").rows() == [(2.0, "reader", "a", 2)]
    assert frames.lost(history_of()).columns == frame.columns


def test_latency_has_a_row_for_each_record_and_its_quantiles_one_for_each_component(history):
    frame = frames.latency(history, "reader")

    assert frame.columns[:4] == ["t", "of", "latency", "lost"]
    assert frame["latency"].to_list() == [timedelta(seconds=0.25), None, None]
    assert frames.quantiles(frame).rows() == [("reader", 1, 2, *[timedelta(seconds=0.25)] * 4)]


def test_samples_and_events_begin_with_the_second_of_the_load(tmp_path):
    run = make_run(tmp_path, "words", "20260101-000000")
    lines = ['{"time": 1000000000, "event": "phase", "phase": "load"}']
    lines.append('{"time": 3500000000, "event": "ready", "component": "poet", "seconds": 2.5}')
    (run.directory / "history" / "events.jsonl").write_text("\n".join([*lines, ""]))

    assert run.samples().columns == ["t", "metric", "of", "value", "time"]
    assert run.events().select("t", "event", "says").rows() == [
        (0.0, "phase", "load"),
        (2.5, "ready", "ready poet after 2.5 s"),
    ]


def test_a_notebook_shows_a_run_as_a_card(tmp_path):
    run = make_run(tmp_path, "a<b", "20260101-000000")
    run.check()

    card = run._repr_html_()

    assert "a&lt;b" in card
    assert "<b>UNKNOWN</b>" in card
    assert "report</a>" not in card
    run.report.write_text("")
    assert f'<a href="{run.report.as_uri()}">report</a>' in runs.Run(run.directory)._repr_html_()
