"""Targets of faults of disks: processes that recover from files."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import ExitStack

from streambed.errors import Problem
from streambed.kinds.components.roles import role
from streambed.kinds.declared_components import Components
from streambed.kinds.declaring import declared
from streambed.kinds.disks import Preparation
from streambed.kinds.faults.of_links import Links
from streambed.kinds.faults.targets import OnAProcess, component_of, process_problems
from streambed.plan import Machine
from streambed.world import Heal, Injected, World


@declared
class OnADisk(OnAProcess):
    """Defaults for faults that hit a process through its disk, and may end it."""

    def possible_outside(self, ours: Collection[str]) -> bool:
        """False: disks of existing clusters are not ours."""
        return False

    def problems(self, hosts: Sequence[str], links: Links, components: Components) -> list[Problem]:
        """The target must be a process that recovers from files."""
        problems = process_problems(self.target, components)
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
    """The node that a target names; empty for a role, or a component with one process."""
    return "" if role(target) else target.partition("/")[2]


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


def with_tolerated_end(world: World, process: str, label: str, heal: Heal) -> Injected:
    """A fault that may end a process; its disk is healed before it is started again."""
    healing = ExitStack()
    healing.callback(world.find(process).tolerate_end())
    healing.callback(heal)
    return Injected(target=label, heal=healing.close, processes=(process,))
