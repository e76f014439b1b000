"""Command: what a program receives, and what it says of its records."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from streambed.declare.experiment import Experiment, problems
from streambed.declare.link import Link
from streambed.declare.topology import Topology
from streambed.kinds.components import Command, Kafka
from streambed.plan import Machine, ProcessSpec
from streambed.planner.planner import plan_for


def experiment(**keys: Any) -> Experiment:
    command = Command(name="homes", node="a", argv=["true"], **keys)
    kafka = Kafka(name="kafka", nodes=["b"], topics={"lines": {}})
    topology = Topology(links=[Link(ends=("a", "b"))])
    return Experiment(name="first", duration="10s", topology=topology, components=[command, kafka])


def process(**keys: Any) -> ProcessSpec:
    machine = Machine(python="python", java="java")
    plan = plan_for(experiment(**keys), machine, base=Path("here"), directory=Path("/runs/1"))
    return next(spec for spec in plan.processes if spec.name == "homes")


def test_a_program_gets_the_folder_for_its_ledger() -> None:
    assert process().env["STREAMBED_HAND_IN"] == "/runs/1/handed_in"


def test_a_program_that_declares_topics_hands_in_a_ledger() -> None:
    writer = Command(name="homes", node="a", argv=["true"], writes="lines")
    reader = Command(name="store", node="a", argv=["true"], reads="lines")
    other = Command(name="other", node="a", argv=["true"])

    assert (writer.topics_written, writer.readers, writer.hands_in_ledger) == (("lines",), (), True)
    assert [(each.name, each.topics) for each in reader.readers] == [("store", ("lines",))]
    assert (other.topics_written, other.readers, other.hands_in_ledger) == ((), (), False)


def test_the_topics_must_be_declared() -> None:
    (problem,) = problems(experiment(writes=["line"]), Path("here"))

    assert "declares the topic 'line'. Did you mean 'lines'?" in str(problem)
