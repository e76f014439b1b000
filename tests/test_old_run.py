"""A run that was recorded before events were typed can still be read and judged."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from streambed.record.events import DrainIncomplete, Inject, LeaderChanged, OtherEvent, Wait
from streambed.results.runs import Run

RECORDED = Path(__file__).parent / "old_run"


@pytest.fixture
def old_run(tmp_path: Path) -> Run:
    directory = tmp_path / "old-run" / "20261118-005809"
    shutil.copytree(RECORDED, directory)
    return Run(directory)


def test_an_old_run_has_its_state_and_its_plan(old_run):
    assert old_run.state == "finished"
    assert [process.name for process in old_run.plan.processes] == [
        "kafka/broker",
        "poet",
        "reader",
        "slow",
        "witness",
    ]


def test_an_old_run_has_its_events(old_run):
    history = old_run.history()

    assert [event.kind for event in history.of(Inject)] == ["kill", "partition"]
    assert [(event.was, event.now) for event in history.of(LeaderChanged)] == [("", "broker")]
    assert [event.waits for event in history.of(DrainIncomplete)] == [
        (Wait(reason="unknown", says="slow is 600 records behind"),)
    ]
    assert not history.of(OtherEvent)


def test_an_old_run_has_its_records(old_run):
    ledger = old_run.ledger()

    assert ledger.sent.height == 600
    assert set(ledger.seen["consumer"]) == {"reader", "slow", "witness"}


def test_an_old_run_is_judged_as_it_was_then(old_run):
    no_loss, latency = old_run.check()

    assert (no_loss.check, no_loss.answer) == ("no_loss", "unknown")
    assert "slow" in no_loss.says
    assert (latency.check, latency.answer) == ("latency", "holds")
    assert latency.evidence["records"] == 600
