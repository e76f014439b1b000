"""Limits, planned: what each process may use of the machine, and what cannot be had here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from streambed.errors import MachineError
from streambed.kinds.components.limits import Limits
from streambed.plan import Allowance, Machine, ProcessSpec
from streambed.planner.refusals import ADVICE, listed

if TYPE_CHECKING:
    from streambed.declare.experiment import Experiment

DELEGATE = (
    "run as root, or in a control group (cgroup v2) that is delegated to you with its controllers: "
    "systemd-run --user --scope -p Delegate=yes streambed run FILE"
)
"""What to do where caps cannot be had."""


def limited(process: ProcessSpec, limits: Limits | None, machine: Machine) -> ProcessSpec:
    """The process with its allowance. Where control groups cannot be had it is `nice` that lets
    others go first.
    """
    if limits is None:
        return process
    allowance = Allowance(
        cpu=limits.cpu.fraction if limits.cpu else 0.0,
        memory_bytes=limits.memory.bytes if limits.memory else 0,
        priority=limits.priority,
        cores=limits.cores,
    )
    nice = (
        ("nice", "-n", str(limits.priority))
        if limits.priority > 0 and not machine.cpu_groups
        else ()
    )
    return replace(process, argv=(*nice, *process.argv), allowance=allowance)


def refuse_limits(experiment: Experiment, machine: Machine) -> None:
    """MachineError that names all that this machine cannot limit."""
    if says := list(_refused(experiment, machine)):
        raise MachineError("\n".join([*says, ADVICE]))


def _refused(experiment: Experiment, machine: Machine) -> Iterator[str]:
    given = {
        f"components.{name}": component.limits
        for name, component in experiment.components.items()
        if component.limits
    }
    cpu = [f"topology.cpu.{name}" for name in experiment.topology.cpu] + [
        f"{key}.limits.cpu" for key, limits in given.items() if limits.cpu
    ]
    memory = [f"topology.memory.{name}" for name in experiment.topology.memory]
    memory += [f"{key}.limits.memory" for key, limits in given.items() if limits.memory]
    raised = [f"{key}.limits.priority" for key, limits in given.items() if limits.priority < 0]
    if cpu and not machine.cpu_groups:
        yield f"you may not cap CPU on this machine, as {listed(cpu)} asks: {DELEGATE}"
    if memory and not machine.memory_groups:
        yield f"you may not cap memory on this machine, as {listed(memory)} asks: {DELEGATE}, as the only program in that group"
    if raised and not machine.cpu_groups:
        yield f"nobody may raise a priority above normal without control groups, as {listed(raised)} asks: give 0 to 19, or {DELEGATE}"
    for key, limits in given.items():
        if wrong := sorted(set(limits.cores) - set(machine.core_numbers)):
            there = ", ".join(map(str, machine.core_numbers))
            yield f"{key}.limits.cores asks for core {listed([str(core) for core in wrong])}, but a run may use {there} on this machine"
