"""Components that run on one host or on many, where a few processes serve all hosts."""

from __future__ import annotations

from itertools import pairwise
from typing import ClassVar

from streambed.errors import Problem
from streambed.kinds.components.component import OnOneNode, gauge_is_ready
from streambed.world import Missing, World


class OnManyHosts(OnOneNode):
    """What producers and consumers share: they run on `node` or on each of `nodes`, in
    `agents` processes at most.
    """

    name: str
    nodes: tuple[str, ...]
    agents: int
    host_keys: ClassVar[tuple[str, ...]] = ("node", "nodes")

    @property
    def hosts(self) -> tuple[str, ...]:
        """All hosts that it runs on."""
        return self.nodes or (self.node,)

    @property
    def places(self) -> dict[str, str]:
        """The key that names each host."""
        return {f"nodes.{at}": node for at, node in enumerate(self.nodes)} or {"node": self.node}

    @property
    def groups(self) -> dict[str, tuple[str, ...]]:
        """Its processes by name, each with the hosts of those that it holds."""
        count = min(self.agents, len(self.hosts))
        cuts = [at * len(self.hosts) // count for at in range(count + 1)]
        groups = [self.hosts[begin:end] for begin, end in pairwise(cuts)]
        return (
            {f"{self.name}/{group[0]}": group for group in groups}
            if count > 1
            else {self.name: self.hosts}
        )

    def named_twice(self) -> list[Problem]:
        """A problem for each host that is named twice."""
        return [
            Problem(key=f"nodes.{at}", says=f"'{host}' is named twice")
            for at, host in enumerate(self.nodes)
            if host in self.nodes[:at]
        ]

    def readiness(self, world: World) -> Missing:
        """Ready when all of its agents say so."""

        def missing() -> str:
            silent = [name for name in self.groups if not gauge_is_ready(world, name)]
            return f"its agents have not reported yet: {', '.join(silent)}" if silent else ""

        return missing
