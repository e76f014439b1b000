"""Routes from any node to any host. Packets pass through switches; hosts do not forward.

Branches of switches have only one way out, so they are cut off first, from their tips: a branch
sends everything that is not below it towards the trunk. Among the switches that remain, the best
paths to each are computed once.
"""

from __future__ import annotations

import heapq
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from streambed.kinds.direction import Direction

if TYPE_CHECKING:
    from streambed.declare.link import Link
    from streambed.declare.topology import Topology

UNLIMITED_BPS = 1 << 62
"""The rate of a link without one: wider than any other."""

Cost = tuple[int, int, int]
"""The cost of a path, most important first: its narrowest rate, negative, then two sums such as
delay and hops.
"""
NO_COST: Cost = (-UNLIMITED_BPS, 0, 0)
_NO_COSTS: dict[str, Cost] = {}
EFFORT_OF_SWITCH = 8
"""Storing one path costs as much as looking at this many links."""
EFFORT_MAX = 40_000_000
"""About 2000 switches in a ring, or 330 of which each is linked with all others; a minute of work
and a gigabyte at most.
"""


class Hop(NamedTuple):
    """A neighbour, and the index of the link to it."""

    near: str
    link: int


Hops = tuple[Hop, ...]
"""Where packets go next; several equally good hops with multipath routing."""
Edges = dict[str, dict[str, tuple[Cost, Hops]]]
"""By node and neighbour."""


def _cost(direction: Direction, delay_ns: int, by: str) -> Cost:
    if by == "fewest_hops":
        return (0, 1, delay_ns)
    if by == "widest":
        rate_bps = direction.rate.bps if direction.rate else UNLIMITED_BPS
        return (-rate_bps, delay_ns, 1)
    return (0, delay_ns, 1)


def _delays_ns(link: Link) -> tuple[int, int]:
    there, back = (link.direction(source).delay for source in link.ends)
    return there.ns if there else 0, back.ns if back else 0


def _add_costs(rest: Cost, step: Cost) -> Cost:
    return (max(rest[0], step[0]), rest[1] + step[1], rest[2] + step[2])


class Routing:
    """Where each node of a topology sends packets next. `failed` are indices of links to ignore.

    `delays_ns` has the delay of each link from its two ends; without it the declared delays count,
    which leaves out files of samples.
    """

    def __init__(
        self,
        topology: Topology,
        failed: frozenset[int] = frozenset(),
        delays_ns: Sequence[tuple[int, int]] = (),
    ) -> None:
        self.switches = frozenset(topology.switches)
        self.hosts = topology.host_names()
        self._links = topology.links
        self._delays_ns = delays_ns or [_delays_ns(link) for link in topology.links]
        self._by_hand = topology.routing == "by_hand"
        self._spread = topology.routing == "multipath"
        self._edges = self._edges_between(topology, failed)
        self._manual = self._read_manual_routes(topology)
        self._hanging = self._hosts_by_anchor()
        self._up = {} if self._by_hand else self._branches()
        self.below = self._hosts_below()
        self._roots = [name for name, hosts in self.below.items() if hosts and name not in self._up]
        self._trunk_edges = self._edges_of_trunk()
        self._keeps_costs = self._needs_costs()
        self._known: dict[str, tuple[dict[str, Cost], dict[str, str]]] = {}
        self._lost: dict[str, list[str]] = {}

    def _hosts_by_anchor(self) -> dict[str, list[str]]:
        hosts: dict[str, list[str]] = defaultdict(list)
        for host in self.hosts:
            hosts[self.anchor(host)].append(host)
        return hosts

    def _needs_costs(self) -> bool:
        """Whether any node compares the costs of several paths, not just takes the best one:
        multipath routing does, and so does a host with several links.
        """
        multi_homed = any(host == self.anchor(host) for host in self.hosts)
        return self._spread or multi_homed

    def _edges_between(self, topology: Topology, failed: frozenset[int]) -> Edges:
        """The cost of each step to a neighbour, and the hops that take it."""
        edges: Edges = {name: {} for name in topology.nodes()}
        for at, link in enumerate(topology.links):
            if at not in failed:
                self._join(edges, at, link, topology.routing)
        return edges

    def _read_manual_routes(self, topology: Topology) -> dict[tuple[str, str], Hops]:
        """Next hops by node and host, for routes given by hand."""
        routes: dict[tuple[str, str], Hops] = {}
        for path in topology.routes:
            host = path[-1]
            for node, hops in self._along(path):
                routes[node, host] = hops
        return routes

    def _join(self, edges: Edges, at: int, link: Link, by: str) -> None:
        """Add a link. Of several links between two nodes the best counts; with multipath routing,
        all that are equally good.
        """
        directions = (link.ends, link.ends[::-1])
        for (source, target), delay_ns in zip(directions, self._delays_ns[at], strict=True):
            cost = _cost(link.direction(source), delay_ns, by)
            hop = Hop(target, at)
            known, hops = edges[source].get(target, (cost, ()))
            if cost < known or not hops:
                edges[source][target] = (cost, (hop,))
            elif cost == known and self._spread:
                edges[source][target] = (cost, (*hops, hop))

    def _along(self, path: tuple[str, ...]) -> list[tuple[str, Hops]]:
        """The hops of a route given by hand; none at all if one of its links failed."""
        if any(near not in self._edges.get(node, ()) for node, near in pairwise(path)):
            return []
        return [(node, self._to(node, near)) for node, near in pairwise(path)]

    def anchor(self, host: str) -> str:
        """The switch of a host that is linked to one switch only, else the host itself. Paths are
        computed once for all hosts of one anchor.
        """
        neighbours = list(self._edges[host])
        if len(neighbours) == 1 and neighbours[0] in self.switches:
            return neighbours[0]
        return host

    def _branches(self) -> dict[str, str]:
        """For each switch of a branch, the next one towards the trunk. A switch with a multi-homed
        host belongs to the trunk.
        """
        beside = {
            switch: {near for near in self._edges[switch] if near in self.switches}
            for switch in self.switches
        }
        single = {
            switch
            for switch in self.switches
            if all(near in beside or self.anchor(near) == switch for near in self._edges[switch])
        }
        up: dict[str, str] = {}
        tips = sorted(switch for switch in single if len(beside[switch]) == 1)
        while tips:
            tip = tips.pop()
            if len(beside[tip]) != 1:
                continue
            (above,) = beside[tip]
            up[tip] = above
            beside[above].discard(tip)
            beside[tip].clear()
            if above in single and len(beside[above]) == 1:
                tips.append(above)
        return up

    def _hosts_below(self) -> dict[str, list[str]]:
        """The hosts below each node: its own and those of its branches. `_up` lists tips first, so
        one pass is enough.
        """
        below = {name: list(self._hanging.get(name, ())) for name in self._edges}
        for switch, above in self._up.items():
            below[above] += below[switch]
        return below

    def _edges_of_trunk(self) -> dict[str, list[tuple[str, Cost]]]:
        """For each root and switch of the trunk the switches beside it, and the cost from there."""
        trunk = self.switches - self._up.keys()
        return {
            node: [
                (near, self._edges[near][node][0]) for near in self._edges[node] if near in trunk
            ]
            for node in trunk.union(self._roots)
        }

    @property
    def effort(self) -> int:
        """How much there is to compute and to keep: for each root all switches of the trunk and
        their links.
        """
        if self._by_hand:
            return 0
        ends = sum(map(len, self._trunk_edges.values()))
        return len(self._roots) * (EFFORT_OF_SWITCH * len(self._trunk_edges) + ends)

    def _trunk(self, anchor: str) -> str:
        while anchor in self._up:
            anchor = self._up[anchor]
        return anchor

    def _to(self, node: str, near: str) -> Hops:
        return self._edges[node][near][1]

    def hops(self, node: str, host: str) -> Hops:
        """The next hops from `node` to `host`; empty if it cannot be reached."""
        if by_hand := self._manual.get((node, host)):
            return by_hand
        step = anchor = self.anchor(host)
        if node == anchor:
            return self._to(node, host)
        while step in self._up:
            if self._up[step] == node:
                return self._to(node, step)
            step = self._up[step]
        if node in self._up:
            trunk = self._trunk(node)
            reachable = trunk == step or self._best(trunk, step)
            return self._to(node, self._up[node]) if reachable else ()
        return self._best(node, step)

    def groups(self, node: str) -> Iterator[tuple[Hops, list[str]]]:
        """Next hops and the hosts reached by them, without routes given by hand.

        On a branch, all hosts that are not below it are missing: they are reached by `rest`. Hosts
        that cannot be reached are in no group.
        """
        for host in self._hanging.get(node, ()):
            if host != node:
                yield self._to(node, host), [host]
        for tip in self._branches_at(node):
            yield self._to(node, tip), self.below[tip]
        if node not in self._up:
            for root in self._roots:
                if root != node and (hops := self._best(node, root)):
                    yield hops, self.below[root]

    def rest(self, node: str) -> Hops:
        """The default hops of a branch, or of a host with one switch; empty for any other node."""
        if node in self.switches:
            return self._to(node, self._up[node]) if node in self._up else ()
        anchor = self.anchor(node)
        return self._to(node, anchor) if anchor != node else ()

    def lost(self, node: str) -> list[str]:
        """The hosts that cannot be reached from a node: the same for a branch as for its trunk."""
        trunk = self._trunk(node)
        if trunk not in self._lost:
            reached = {host for _, hosts in self.groups(trunk) for host in hosts}
            self._lost[trunk] = [
                host for host in self.hosts if host not in reached and host != trunk
            ]
        return self._lost[trunk]

    def manual_routes(self, node: str) -> dict[str, Hops]:
        """The routes of `node` that are given by hand: next hops by host."""
        return {host: hops for (at, host), hops in self._manual.items() if at == node}

    def _branches_at(self, node: str) -> list[str]:
        """The switches of branches whose next switch towards the trunk is `node`."""
        return [near for near in self._edges[node] if self._up.get(near) == node]

    def _best(self, node: str, root: str) -> Hops:
        """The best next hops from a node of the trunk, or a multi-homed host, to `root`."""
        costs, nexts = self._known.get(root) or self._trunk_to(root)
        if node in nexts and not self._spread:
            return self._to(node, nexts[node])
        candidates = [
            (_add_costs(costs[near], cost), near)
            for near, (cost, _) in self._edges[node].items()
            if near in costs
        ]
        if not candidates or node == root:
            return ()
        least, first = min(candidates)
        if not self._spread:
            return self._to(node, first)
        nears = sorted(near for cost, near in candidates if cost == least)
        return tuple(hop for near in nears for hop in self._to(node, near))

    def _trunk_to(self, root: str) -> tuple[dict[str, Cost], dict[str, str]]:
        """The cost from each switch of the trunk to `root`, and its next neighbour; computed once
        for each root.
        """
        costs: dict[str, Cost] = {}
        nexts: dict[str, str] = {}
        if not self._by_hand:
            costs, nexts = self._search_from(root)
        if not self._keeps_costs:
            costs = _NO_COSTS
        self._known[root] = costs, nexts
        return self._known[root]

    def _search_from(self, root: str) -> tuple[dict[str, Cost], dict[str, str]]:
        """Dijkstra's algorithm on the trunk, starting at `root`."""
        costs: dict[str, Cost] = {}
        nexts: dict[str, str] = {}
        best: dict[str, tuple[Cost, str]] = {}
        worst: Cost | None = None
        ahead: list[tuple[Cost, str, str]] = [(NO_COST, root, "")]
        while ahead:
            # Of paths with the same cost, the one by the first name wins.
            cost, node, after = heapq.heappop(ahead)
            if node in costs:
                continue
            costs[node] = cost
            nexts[node] = after
            if worst is None and len(best) + 1 == len(self._trunk_edges):
                worst = max((known for known, _ in best.values()), default=NO_COST)
            # Every step costs something: from here no path is cheaper than a known one.
            if worst is not None and cost >= worst:
                continue
            # The sums of _add_costs, written out for speed.
            narrowest, first, second = cost
            for near, step in self._trunk_edges[node]:
                if near in costs:
                    continue
                further = (max(narrowest, step[0]), first + step[1], second + step[2])
                known = best.get(near)
                if known is None or (further, node) < known:
                    best[near] = (further, node)
                    heapq.heappush(ahead, (further, near, node))
        del nexts[root]
        return costs, nexts

    def unreachable(self, hosts: Iterable[str]) -> list[tuple[str, str]]:
        """Pairs of these hosts without a path. It is enough to look from the first to the others,
        unless routes are given by hand.
        """
        names = list(hosts)
        sources = names if self._by_hand else names[:1]
        pairs = [(one, other) for one in sources for other in names if one != other]
        return [pair for pair in pairs if self._path(*pair) is None]

    def neighbours(self, node: str) -> list[str]:
        """The nodes at the other ends of its links."""
        return list(self._edges[node])

    def delay_ns(self, source: str, host: str) -> float:
        """The delay of the path to a host; infinite if there is no path."""
        path = self._path(source, host)
        if path is None:
            return math.inf
        total_ns = 0
        for node, hop in path:
            end = node != self._links[hop.link].ends[0]
            total_ns += self._delays_ns[hop.link][end]
        return total_ns

    def _path(self, source: str, host: str) -> list[tuple[str, Hop]] | None:
        """Each node that a packet passes, with its hop there; None if it does not arrive, because
        routes given by hand may lead nowhere.
        """
        path: list[tuple[str, Hop]] = []
        at = source
        while at != host:
            hops = (self.rest(at) if at == source else ()) or self.hops(at, host)
            if not hops or len(path) > len(self._edges):
                return None
            path.append((at, hops[0]))
            at = hops[0].near
        return path
