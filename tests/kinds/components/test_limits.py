"""Limits: what is planned for each process, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from streambed.declare.experiment import Experiment, problems
from streambed.declare.link import Link
from streambed.declare.topology import Topology
from streambed.errors import MachineError
from streambed.kinds.components import Command
from streambed.plan import Allowance, Machine, ProcessSpec
from streambed.planner.description import describe
from streambed.planner.planner import plan_for

MACHINE = Machine(
    cores=2, core_numbers=(0, 1), cpu_groups="groups", memory_groups="groups", python="python"
)
PLAIN = Machine(cores=2, core_numbers=(0, 1), python="python")


def experiment(topology: dict[str, Any] | None = None, **limits: Any) -> Experiment:
    network = Topology(links=[Link(ends=("a", "b"))], **(topology or {}))
    work = Command(name="work", node="a", argv=["true"], limits=limits)
    return Experiment(name="first", duration="1s", topology=network, components=[work])


def planned(machine: Machine, **limits: Any) -> ProcessSpec:
    (process,) = plan_for(
        experiment(**limits), machine, base=Path("here"), directory=Path("runs/1")
    ).processes
    return process


def test_limits_become_the_allowance_of_the_process() -> None:
    plan = planned(MACHINE, cpu="25%", memory="64MiB", priority=-5, cores=[1])

    assert plan.allowance == Allowance(cpu=0.25, memory_bytes=64 << 20, priority=-5, cores=(1,))
    assert plan.argv == ("true",)


def test_without_control_groups_a_process_is_nice_to_others() -> None:
    assert planned(PLAIN, priority=10).argv == ("nice", "-n", "10", "true")


def test_the_plan_shows_limits() -> None:
    plan = plan_for(
        experiment(cpu="25%", memory="64MiB", cores=[0, 1]),
        MACHINE,
        base=Path("here"),
        directory=Path("runs/1"),
    )

    assert (
        "work  on a (at most 25% of the machine's CPU and 64MiB of memory, on core 0, 1)  true"
        in describe(plan)
    )


@pytest.mark.parametrize(
    ("limits", "says"),
    [
        (
            {"cpu": "10%"},
            r"may not cap CPU on this machine, as components\.work\.limits\.cpu asks: "
            r"run as root, or .*Delegate=yes",
        ),
        (
            {"memory": "1GiB"},
            r"may not cap memory on this machine, as components\.work\.limits\.memory asks: "
            r".* the only program in that group",
        ),
        (
            {"priority": -1},
            r"a priority above normal needs .* components\.work\.limits\.priority asks: "
            r"give 0 to 19, or run as root",
        ),
        (
            {"cores": [0, 7]},
            r"components\.work\.limits\.cores asks for core 7, but a run may use 0, 1",
        ),
    ],
)
def test_what_this_machine_cannot_limit_is_refused(limits: dict[str, Any], says: str) -> None:
    with pytest.raises(MachineError, match=says):
        planned(PLAIN, **limits)


@pytest.mark.parametrize(
    ("topology", "limits", "key", "says"),
    [
        (
            {},
            {"cpu": "0%"},
            "limits.cpu",
            "0% is not allowed: give more than 0 % and at most 100 % of the whole machine, "
            "or leave it "
            "out",
        ),
        (
            {},
            {"memory": "1kB"},
            "limits.memory",
            "1kB is too little for any program: give 1MiB or more",
        ),
        ({}, {"cores": [1, 1]}, "limits.cores.1", "core 1 is named twice"),
        (
            {"cpu": {"a": "10%"}},
            {"cpu": "20%"},
            "limits.cpu",
            "20% is more than its host 'a' has: topology.cpu gives that 10%",
        ),
        (
            {"memory": {"a": "1MiB"}},
            {"memory": "2MiB"},
            "limits.memory",
            "2MiB is more than its host 'a' has: topology.memory gives that 1MiB",
        ),
    ],
)
def test_impossible_limits_are_problems(
    topology: dict[str, Any], limits: dict[str, Any], key: str, says: str
) -> None:
    (problem,) = problems(experiment(topology, **limits), Path())

    assert (problem.key, problem.says) == (f"components.work.{key}", says)


def test_memory_of_a_host_that_is_not_there_is_a_problem() -> None:
    (problem,) = problems(experiment({"memory": {"q": "1GiB"}}), Path())

    assert (problem.key, problem.says) == (
        "topology.memory.q",
        "there is no host 'q'. Known: a, b.",
    )
