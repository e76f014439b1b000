"""Targets of faults: a process, a host, or the holder of a role at the time of the injection."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from streambed.errors import Problem, suggestion
from streambed.kinds.components.roles import broker_for, means_role, role, role_problems
from streambed.kinds.faults.fault import NeedsNothing
from streambed.kinds.faults.of_links import Links
from streambed.world import World

Components = dict[str, Any]


class OnATarget(NeedsNothing):
    """Defaults for faults with one `target`."""

    target: str

    @property
    def aim(self) -> str:
        """The target, as declared."""
        return self.target

    @property
    def roles(self) -> Sequence[str]:
        """The target, if it is a role."""
        return roles_among((self.target,))


class OnAProcess(OnATarget):
    """Defaults for faults whose `target` is a process."""

    def possible_outside(self, ours: Collection[str]) -> bool:
        """A process that we run can be hit with or without an emulated network."""
        return self.target.partition("/")[0] in ours

    def problems(
        self, hosts: Sequence[str], links: Links, components: dict[str, Any]
    ) -> list[Problem]:
        """The target must be a single process or a role."""
        return process_problems(self.target, components)


def process_problems(target: str, components: Components, key: str = "target") -> list[Problem]:
    """A target must be a single process, or a role."""
    places = {name: list(component.places.values()) for name, component in components.items()}
    single = [name for name, nodes in places.items() if len(nodes) == 1]
    parts = [f"{name}/{node}" for name, nodes in places.items() for node in nodes]
    if means_role(target):
        return _role_problems(target, components, components, key)
    if target in single or target in parts:
        return []
    if target in places:
        says = f"'{target}' has several processes: name one, such as '{target}/{places[target][0]}'"
        return [Problem(key=key, says=says)]
    says = f"there is no '{target}'. {suggestion(target, [*single, *parts])}"
    component = target.partition("/")[0]
    return [Problem(key=key, says=says, about=frozenset({component}))]


def node_problems(
    target: str,
    nodes: Collection[str],
    components: Components,
    key: str = "target",
    noun: str = "node",
) -> list[Problem]:
    """A target must be one of these nodes, or a role."""
    if means_role(target):
        return _role_problems(target, nodes, components, key)
    if target in nodes:
        return []
    return [Problem(key=key, says=f"there is no {noun} '{target}'. {suggestion(target, nodes)}")]


def _role_problems(
    target: str, names: Collection[str], components: Components, key: str
) -> list[Problem]:
    if target in names:
        says = (
            f"'{target}' is a name here and a role as well: "
            f"write '{target} of KAFKA' for the role, or rename it"
        )
        return [Problem(key=key, says=says)]
    return role_problems(target, components, key)


def roles_among(targets: Iterable[str]) -> tuple[str, ...]:
    """The targets that are roles."""
    return tuple(target for target in targets if role(target))


def candidates(target: str, components: Components) -> tuple[str, ...]:
    """The hosts that a target may resolve to."""
    wanted = role(target)
    if wanted is None:
        return (target,)
    return broker_for(wanted, components).nodes


def resolve_process(target: str, world: World) -> tuple[str, str]:
    """The process that a target names now, and its label in the run's events."""
    if role(target) is None:
        return target, target
    holder = world.holder(target)
    return holder, f"{holder} ({target})"


def resolve_host(target: str, world: World) -> tuple[str, str]:
    """The host that a target names now, and its label in the run's events."""
    if role(target) is None:
        return target, target
    node = world.holder(target).partition("/")[2]
    return node, f"{node} ({target})"
