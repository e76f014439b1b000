"""Isolate: all links of a host or a switch are cut until they heal."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from itertools import chain
from typing import Any, Literal

from streambed.errors import Problem
from streambed.kinds.declaring import declared
from streambed.kinds.faults.of_links import Links
from streambed.kinds.faults.targets import OnATarget, candidates, node_problems, resolve_host
from streambed.units import Duration
from streambed.world import Injury, World


@declared
class Isolate(OnATarget):
    """Cut every link of the node `target` at `at`; restore them after `lasts`."""

    kind: Literal["isolate"] = "isolate"
    at: Duration
    """Counted from the start of the load."""
    lasts: Duration
    target: str
    """A node, or a role such as leader of lines/0: the host of that broker."""

    def problems(
        self, hosts: Sequence[str], links: Links, components: dict[str, Any]
    ) -> list[Problem]:
        """The target must be a node or a role."""
        ends = chain.from_iterable(link.ends for link in links.values())
        return node_problems(self.target, {*hosts, *ends}, components)

    def emulated(self, links: Links, components: dict[str, Any]) -> Sequence[str]:
        """All links of all hosts that it may hit."""
        hosts = set(candidates(self.target, components))
        return [name for name, link in links.items() if hosts & set(link.ends)]

    def inject(self, world: World) -> Injury:
        """Drop packets from both ends of each of its links."""
        host, label = resolve_host(self.target, world)
        with ExitStack() as healing:  # If one cut fails, the earlier ones are healed.
            for wire in world.wires_of(host):
                wire.cut(wire.ends)
                healing.callback(wire.mend, wire.ends)
            return Injury(target=label, heal=healing.pop_all().close)
