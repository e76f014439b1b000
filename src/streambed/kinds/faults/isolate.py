"""Isolate: all links of a host or a switch are cut until they heal."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from itertools import chain
from typing import Literal

from streambed.errors import Problem
from streambed.kinds.components.roles import means_role
from streambed.kinds.declared_components import Components
from streambed.kinds.declaring import declared
from streambed.kinds.faults.fault import Held
from streambed.kinds.faults.of_links import Links, directions_of
from streambed.kinds.faults.targets import OnATarget, candidates, node_problems, resolve_hosts
from streambed.world import Injected, World


@declared
class Isolate(OnATarget):
    """Cut every link of the node `target` at `at`; restore them after `lasts`."""

    kind: Literal["isolate"] = "isolate"
    target: str
    """A node, or a role such as leader of lines/0: the host of that broker."""

    def problems(self, hosts: Sequence[str], links: Links, components: Components) -> list[Problem]:
        """The target must be a node or a role."""
        ends = chain.from_iterable(link.ends for link in links.values())
        return node_problems(self.target, {*hosts, *ends}, components)

    def emulated(self, links: Links, components: Components) -> Sequence[str]:
        """All links of all hosts that it may hit."""
        hosts = set(candidates(self.target, components))
        return [name for name, link in links.items() if hosts & set(link.ends)]

    def holds(self, links: Links, components: Components) -> Sequence[Held]:
        """Both directions of each of its links, if the node is named."""
        if means_role(self.target):
            return ()
        directions = directions_of(self.emulated(links, components), "", links)
        return [Held(direction, "cut") for direction in directions]

    def inject(self, world: World) -> Injected:
        """Drop packets from both ends of each of its links."""
        hosts, label = resolve_hosts(self.target, world)
        wires = [wire for host in hosts for wire in world.wires_of(host)]
        with ExitStack() as healing:  # If one cut fails, the earlier ones are healed.
            for wire in wires:
                wire.cut(wire.ends)
                healing.callback(wire.mend, wire.ends)
            return Injected(
                target=label,
                heal=healing.pop_all().close,
                nodes=tuple(hosts),
                links=tuple(wire.ends for wire in wires),
            )
