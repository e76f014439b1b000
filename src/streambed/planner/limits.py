"""What each process may use of the machine, and which limits this machine cannot apply."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from streambed.errors import MachineError
from streambed.kinds.components.limits import Limits
from streambed.plan import Allowance, Machine, ProcessSpec
from streambed.planner.refusals import ADVICE, list_names

if TYPE_CHECKING:
    from streambed.declare.experiment import Experiment

DELEGATE = (
    "run as root, or in a control group (cgroup v2) that is delegated to you with its controllers: "
    "systemd-run --user --scope -p Delegate=yes streambed run FILE"
)
"""What to do where the user may not make control groups."""


def with_limits(process: ProcessSpec, limits: Limits | None, machine: Machine) -> ProcessSpec:
    """The process with its allowance. Without control groups, `nice` lowers its priority."""
    if limits is None:
        return process
    allowance = Allowance(
        cpu=limits.cpu.fraction if limits.cpu else 0.0,
        memory_bytes=limits.memory.bytes if limits.memory else 0,
        priority=limits.priority,
        cores=limits.cores,
    )
    argv = process.argv
    if limits.priority > 0 and not machine.cpu_groups:
        argv = ("nice", "-n", str(limits.priority), *argv)
    return replace(process, argv=argv, allowance=allowance)


def refuse_limits(experiment: Experiment, machine: Machine) -> None:
    """Raise MachineError that names every limit this machine cannot apply."""
    if refusals := list(_refusals(experiment, machine)):
        raise MachineError("\n".join([*refusals, ADVICE]))


def _refusals(experiment: Experiment, machine: Machine) -> Iterator[str]:
    cpu = [f"topology.cpu.{name}" for name in experiment.topology.cpu]
    memory = [f"topology.memory.{name}" for name in experiment.topology.memory]
    raised = []
    for key, limits in _limits_by_key(experiment).items():
        if limits.cpu:
            cpu.append(f"{key}.cpu")
        if limits.memory:
            memory.append(f"{key}.memory")
        if limits.priority < 0:
            raised.append(f"{key}.priority")
    if cpu and not machine.cpu_groups:
        yield f"you may not cap CPU on this machine, as {list_names(cpu)} asks: {DELEGATE}"
    if memory and not machine.memory_groups:
        yield (
            f"you may not cap memory on this machine, as {list_names(memory)} asks: {DELEGATE}, "
            "as the only program in that group"
        )
    if raised and not machine.cpu_groups:
        yield (
            "a priority above normal needs control groups, "
            f"as {list_names(raised)} asks: give 0 to 19, or {DELEGATE}"
        )
    yield from _missing_cores(experiment, machine)


def _limits_by_key(experiment: Experiment) -> dict[str, Limits]:
    limits: dict[str, Limits] = {}
    for name, component in experiment.components.items():
        if component.limits:
            limits[f"components.{name}.limits"] = component.limits
    return limits


def _missing_cores(experiment: Experiment, machine: Machine) -> Iterator[str]:
    usable = ", ".join(map(str, machine.core_numbers))
    for key, limits in _limits_by_key(experiment).items():
        missing = sorted(set(limits.cores) - set(machine.core_numbers))
        if missing:
            numbers = list_names([str(core) for core in missing])
            yield (
                f"{key}.cores asks for core {numbers}, but a run may use {usable} on this machine"
            )
