"""A launcher without a box: a run is a folder with a history that was never lived. Becoming ready
takes as long as link 0's delay.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from streambed import plan as plans
from streambed.declare.experiment import Experiment
from streambed.errors import WorldError
from streambed.plan import Machine, Plan
from streambed.record.status import begin, conclude
from streambed.results.runs import Run
from streambed.runner import launcher

SMALL = """\
version: 1
name: small
duration: 2s
topology:
  links: [{ends: [left, right], delay: 100ms}]
components:
  sleeper: {kind: command, node: left, argv: [sleep, "1000"]}
  talker: {kind: command, node: right, argv: [sh, -c, "while true; do echo here; sleep 0.1; done"]}
"""
STUDY = """\
version: 1
name: delays
experiment: small.yaml
vary:
  topology.links.0.delay: [100ms, 200ms]
repetitions: 2
measures:
  ready: {ready: all}
"""
CHECKED = """\
  kafka: {kind: kafka, nodes: [left], topics: {lines: {}}}
  poet: {kind: producer, node: right, writes: lines}
  reader: {kind: consumer, node: right, reads: lines}
checks:
  - {kind: no_loss, topic: lines}
"""


class FakeLauncher:
    """Each launch ends in the next of the given states, then all finish."""

    def __init__(self, *states: str) -> None:
        self.states = list(states)
        self.launched: list[Plan] = []

    def prepare(
        self, experiment: Experiment, *, base: Path, into: Path, notes: tuple[str, ...] = ()
    ) -> Plan:
        number = len(self.launched) + 1
        return Plan(
            name=experiment.name,
            seed=experiment.seed,
            duration_ns=experiment.duration.ns,
            ready_limit_ns=1,
            drain_limit_ns=1,
            directory=str(into.absolute() / experiment.name / f"{os.getpid()}-{id(self)}-{number}"),
            machine=Machine(),
            nodes=(),
            links=(),
            processes=(),
            declaration=experiment.declaration(),
        )

    def launch(
        self, plan: Plan, *, text: str = "", on_look: Callable[[Run], None] = lambda run: None
    ) -> Run:
        state = self.states.pop(0) if self.states else "finished"
        self.launched.append(plan)
        if state == "raises":
            raise WorldError("the disk is full")
        directory = Path(plan.directory)
        for name in ("history", "figures"):
            (directory / name).mkdir(parents=True)
        plans.write(plan, directory / "plan.json")
        begin(directory, os.getpid())
        (directory / "history" / "events.jsonl").write_text(
            "".join(json.dumps(event) + "\n" for event in _events(plan))
        )
        run = Run(directory)
        on_look(run)
        conclude(directory, state, "" if state == "finished" else f"it {state}")  # type: ignore[arg-type]
        return run


def _events(plan: Plan) -> list[dict[str, Any]]:
    links = plan.declaration["topology"]["links"]
    ready_ns = int(links[0]["delay"].removesuffix("ms")) * 1_000_000 + plan.seed % 1_000_000
    phases = {
        "build": 0,
        "load": ready_ns,
        "heal": ready_ns + plan.duration_ns,
        "drain": ready_ns + plan.duration_ns,
    }
    return [
        {"time": 10**9 + time, "event": "phase", "phase": phase} for phase, time in phases.items()
    ]


def install(monkeypatch: pytest.MonkeyPatch, *states: str) -> FakeLauncher:
    """Put a fake in the launcher's place."""
    fake = FakeLauncher(*states)
    monkeypatch.setattr(launcher, "prepare", fake.prepare)
    monkeypatch.setattr(launcher, "launch", fake.launch)
    return fake


def write_study(folder: Path, text: str = STUDY, experiment: str = SMALL) -> Path:
    """A study and its experiment."""
    (folder / "small.yaml").write_text(experiment)
    (folder / "study.yaml").write_text(text)
    return folder / "study.yaml"
