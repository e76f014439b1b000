"""What is printed while a run lasts."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from streambed.cli import live_view
from streambed.plan import Machine, Plan

SECOND = 10**9


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    for folder in ("history", "logs"):
        (tmp_path / folder).mkdir()
    watch = {"kind": "command", "node": "a", "argv": ["watch"], "show": True}
    kafka = {"kind": "kafka", "nodes": ["a"], "topics": {"lines": {}}}
    return Plan(
        name="small",
        seed=1,
        duration_ns=30 * SECOND,
        ready_limit_ns=120 * SECOND,
        drain_limit_ns=60 * SECOND,
        directory=str(tmp_path),
        machine=Machine(),
        nodes=(),
        links=(),
        processes=(),
        declaration={"name": "small", "components": {"kafka": kafka, "watch": watch}, "faults": []},
    )


def record(plan: Plan, *events: dict[str, object]) -> None:
    with (Path(plan.directory) / "history" / "events.jsonl").open("a") as file:
        for second, event in enumerate(events):
            file.write(json.dumps({"time": (second + 1) * SECOND, **event}) + "\n")


def phase(name: str) -> dict[str, object]:
    return {"event": "phase", "phase": name}


def ended(process: str, status: int, *, expected: bool) -> dict[str, object]:
    return {
        "event": "process_ended",
        "process": process,
        "component": process,
        "node": "a",
        "incarnation": 1,
        "status": status,
        "expected": expected,
    }


def test_healing_is_no_phase_without_faults(plan):
    record(plan, phase("load"), phase("heal"), phase("drain"))
    with_faults = replace(plan, declaration={**plan.declaration, "faults": [{"kind": "cut"}]})

    assert [line.split()[1] for line in live_view.Happenings(plan).new()] == ["load", "drain"]
    shown = [line.split()[1] for line in live_view.Happenings(with_faults).new()]
    assert shown == ["load", "heal", "drain"]


def test_a_process_that_the_run_stops_at_its_end_is_not_shown_as_a_crash(plan):
    stopped, crashed = ended("kafka", -9, expected=True), ended("poet", 1, expected=False)
    record(plan, phase("load"), stopped, phase("stop"), stopped, crashed, phase("destroy"), stopped)

    lines = list(live_view.Happenings(plan).new())

    assert [line.split()[1] for line in lines] == ["load", "ended", "stop", "ended", "destroy"]
    assert "poet, status 1, unexpectedly" in lines[3]


def at(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    monkeypatch.setattr(live_view, "now_ns", lambda: round(seconds * SECOND))


@pytest.mark.parametrize(
    ("events", "seconds", "says"),
    [
        ([phase("build")], 5, "  0:04 build    4 s of at most 120 s, not ready yet: kafka, watch"),
        (
            [phase("start"), {"event": "ready", "component": "kafka", "seconds": 1.0}],
            13,
            "  0:12 start    12 s of at most 120 s, not ready yet: watch",
        ),
        ([phase("load")], 16, "  0:15 load     █████░░░░░ 15 of 30 s, 15 s left"),
        (
            [phase("load"), phase("drain")],
            6,
            "  0:05 drain    4 s of at most 60 s, until every reader has caught up",
        ),
        ([phase("stop")], 3, "  0:02 stop     2 s"),
    ],
)
def test_progress_says_the_phase_and_the_time_left(plan, monkeypatch, events, seconds, says):
    record(plan, *events)
    happenings = live_view.Happenings(plan)
    list(happenings.new())
    at(monkeypatch, seconds)

    assert live_view.Progress(plan, happenings).line() == says


def test_without_a_terminal_progress_is_due_every_ten_seconds(plan, monkeypatch):
    at(monkeypatch, 0)
    progress = live_view.Progress(plan, live_view.Happenings(plan))

    due = []
    for second in range(31):
        at(monkeypatch, second)
        due += [second] if progress.due() else []

    assert due == [10, 20, 30]


def test_a_program_that_prints_much_does_not_bury_the_lines_of_the_run(plan):
    log = Path(plan.directory) / "logs" / "watch.log"
    output = live_view.Output(plan)

    log.write_text("".join(f"row {number}\n" for number in range(100)))
    printed = output.new()

    assert printed[:2] == ["watch | row 0", "watch | row 1"]
    assert len(printed) == live_view.OUTPUT_FIRST + 1
    assert printed[-1].endswith("streambed logs -f latest watch")
    assert output.new() == []
    assert output.rest()[-1] == "watch | row 99"
    assert len(output.rest()) == live_view.OUTPUT_LAST


def test_a_program_that_prints_little_is_printed_once(plan):
    (Path(plan.directory) / "logs" / "watch.log").write_text("one\ntwo\n")
    output = live_view.Output(plan)

    assert output.new() == ["watch | one", "watch | two"]
    assert output.rest() == []
