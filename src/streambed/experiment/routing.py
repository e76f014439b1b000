"""The ways of packets: least total delay, then fewest hops, then by name. Packets pass through switches; hosts do not forward."""

from __future__ import annotations

import math
from collections.abc import Iterable

import networkx as nx

from streambed.experiment.topology import Topology
from streambed.units import Duration

HOPS_MAX = 1 << 20
"""A cost is delay in nanoseconds times this, plus hops: one exact number that compares delay first."""

Hops = dict[str, str]
"""The neighbour to which each node sends what is for one destination."""


class Routing:
    """Which neighbour is next, from any node to any host."""

    def __init__(self, topology: Topology) -> None:
        self.switches = frozenset(topology.switches)
        self.graph = nx.DiGraph()
        self.graph.add_nodes_from(topology.nodes())
        for link in topology.links:
            for source, target in (link.ends, link.ends[::-1]):
                delay = link.way(source).delay or Duration(0)
                self.graph.add_edge(source, target, cost=delay.ns * HOPS_MAX + 1)
        self._known: dict[str, Hops] = {}

    def next_hop(self, node: str, destination: str) -> str | None:
        """The neighbour to which `node` sends packets for the host `destination`; none if there is no way."""
        if self.graph.has_edge(node, destination) and self._hangs_on(destination) == node:
            return destination
        return self._hops_to(self._hangs_on(destination)).get(node)

    def _hangs_on(self, host: str) -> str:
        """The switch that a host with one link hangs on, else the host itself: ways to all hosts of a switch are found once."""
        neighbours = list(self.graph.successors(host))
        return neighbours[0] if len(neighbours) == 1 and neighbours[0] in self.switches else host

    def _hops_to(self, target: str) -> Hops:
        if target not in self._known:
            self._known[target] = self._find_hops(target)
        return self._known[target]

    def _find_hops(self, target: str) -> Hops:
        passable = self.graph.subgraph(self.switches | {target}).reverse(copy=False)
        distances = nx.single_source_dijkstra_path_length(passable, target, weight="cost")
        hops = {}
        for node in self.graph:
            ways = [(edge["cost"] + distances[near], near) for near, edge in self.graph[node].items() if near in distances]
            if ways and node != target:
                hops[node] = min(ways)[1]
        return hops

    def neighbours(self, node: str) -> list[str]:
        """The nodes at the other ends of its links."""
        return list(self.graph.successors(node))

    def delay_ns(self, source: str, destination: str) -> float:
        """How long packets are on their way; endless if there is none."""
        delay_ns, node = 0, source
        while node != destination:
            near = self.next_hop(node, destination)
            if near is None:
                return math.inf
            delay_ns += self.graph[node][near]["cost"] // HOPS_MAX
            node = near
        return delay_ns

    def unreachable(self, hosts: Iterable[str]) -> list[tuple[str, str]]:
        """Each of these hosts that the first of them cannot reach, as pairs."""
        first, *others = list(hosts) or [""]
        return [(first, other) for other in others if other != first and not self._reaches(first, other)]

    def _reaches(self, source: str, destination: str) -> bool:
        return self._hangs_on(source) == self._hangs_on(destination) or self.next_hop(source, destination) is not None
