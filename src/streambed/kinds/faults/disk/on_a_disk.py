"""Targets of faults of disks: processes that recover from files."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack
from typing import ClassVar

from streambed.errors import Problem
from streambed.kinds.components.roles import role
from streambed.kinds.declared_components import Components
from streambed.kinds.declaring import declared
from streambed.kinds.disks import Preparation
from streambed.kinds.faults.crowds import crowd
from streambed.kinds.faults.of_links import Links
from streambed.kinds.faults.targets import (
    OnAProcess,
    act_on_each,
    component_of,
    resolve_processes,
)
from streambed.plan import Machine
from streambed.world import Heal, Injected, Process, World


@declared
class OnADisk(OnAProcess):
    """Defaults for faults that hit processes through their disks, and may end them."""

    needs_life: ClassVar[bool] = True

    def possible_outside(self, ours: Collection[str]) -> bool:
        """False: disks of existing clusters are not ours."""
        return False

    def problems(self, hosts: Sequence[str], links: Links, components: Components) -> list[Problem]:
        """The target must be a process that recovers from files."""
        problems = super().problems(hosts, links, components)
        return problems or disk_problems(self.target, components)

    def killed_components(self, components: Components) -> Collection[str]:
        """The target's component: many servers end when their disk fails."""
        return (component_of(self.target, components),)


@declared
class OnSyncs(OnADisk):
    """Defaults for faults that need the syncs of a process to be reported."""

    def problems(self, hosts: Sequence[str], links: Links, components: Components) -> list[Problem]:
        """The target must sync its files."""
        problems = super().problems(hosts, links, components)
        if problems:
            return problems
        name = component_of(self.target, components)
        reason = components[name].no_syncs
        return [Problem(key="target", says=f"'{name}': {reason}")] if reason else []

    def prepares(self, components: Components) -> Sequence[Preparation]:
        """Its syncs are reported from its start on."""
        return (sync_preparation(self.target, components),)

    def lacks(self, machine: Machine) -> str:
        """Seccomp must report system calls to another process."""
        return machine.sync_refusal


def node_of(target: str) -> str:
    """The node that a target names; empty for a role, several, or a component with one process."""
    return "" if role(target) or crowd(target) else target.partition("/")[2]


def sync_preparation(target: str, components: Components) -> Preparation:
    """The syncs of every process that a target may name are reported."""
    return Preparation(component=component_of(target, components), node=node_of(target), syncs=True)


def disk_problems(target: str, components: Components, key: str = "target") -> list[Problem]:
    """The processes that a target names must have a disk."""
    component = components[component_of(target, components)]
    node = node_of(target)
    if component.disks and (not node or node in component.disks):
        return []
    with_disks = [name for name, other in components.items() if other.disks]
    known = f"Those with a disk are {', '.join(with_disks)}" if with_disks else "None here has"
    says = f"'{target}' has no files to recover from, so it has no disk to break. {known}"
    return [Problem(key=key, says=says)]


def break_disks(
    target: str, world: World, act: Callable[[Process], Heal], words: str = ""
) -> Injected:
    """Do something to the disk of each process that a target means now, which may end it.

    Its disk is healed before it is started again.
    """
    processes, label = resolve_processes(target, world)

    def break_disk(process: Process) -> Heal:
        healing = ExitStack()
        healing.callback(process.tolerate_end())
        healing.callback(act(process))
        return healing.close

    return Injected(
        target=f"{label}: {words}" if words else label,
        heal=act_on_each(processes, break_disk),
        processes=tuple(process.name for process in processes),
    )
