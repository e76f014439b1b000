"""The route table of each node.

With many hosts, tables are summarised: one route for the most common next hop, and one for each
block of addresses with another. The longest match wins, as in any router.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from ipaddress import IPv4Address
from typing import TYPE_CHECKING

from streambed.plan import Hop, PlannedLink, Route
from streambed.planner.routing import Hops, Routing

if TYPE_CHECKING:
    from streambed.declare.topology import Topology

EACH_HOST_MAX = 64
"""Up to this many hosts, each has its own route, which is easier to read."""

Entries = list[tuple[int, Hops]]
"""Addresses as numbers, in order, and the next hops to each."""
Block = tuple[int, int]
"""The first address and the number of addresses, a power of two."""


class RouteTables:
    """The routes of every node, with all links or without those that failed."""

    def __init__(
        self, topology: Topology, links: Sequence[PlannedLink], addresses: Mapping[str, str]
    ) -> None:
        self._topology = topology
        self._addresses = addresses
        self._interfaces = [{port.node: port.interface for port in link.ports} for link in links]
        self._numbers = {name: int(IPv4Address(address)) for name, address in addresses.items()}
        self._delays_ns = [(link.shapes[0].delay_ns, link.shapes[1].delay_ns) for link in links]
        self._whole = Routing(topology, delays_ns=self._delays_ns)
        self._everybody = sorted(self._numbers[host] for host in self._whole.hosts)

    def tables(self, failed: frozenset[int] = frozenset()) -> dict[str, tuple[Route, ...]]:
        """The routes of each node; `failed` are indices of links that carry nothing."""
        routing = Routing(self._topology, failed, self._delays_ns) if failed else self._whole
        return {name: tuple(self._routes(name, routing)) for name in self._addresses}

    def _routes(self, node: str, routing: Routing) -> Iterator[Route]:
        if node not in routing.switches:
            only_hops = routing.rest(node) or self._whole.rest(node)
            if only_hops:
                yield self._route(node, "default", only_hops)
                return
        if len(self._everybody) <= EACH_HOST_MAX:
            yield from self._routes_by_host(node, routing)
        else:
            yield from self._routes_by_block(node, routing)

    def _routes_by_host(self, node: str, routing: Routing) -> Iterator[Route]:
        known = self._next_hops(node, routing)
        rest = routing.rest(node)
        for host in routing.hosts:
            hops = known.get(host, rest)
            if host != node and hops:
                yield self._route(node, self._addresses[host], hops)

    def _routes_by_block(self, node: str, routing: Routing) -> Iterator[Route]:
        """A route to all hosts, and more specific ones where the next hops are others."""
        known = self._next_hops(node, routing)
        rest = self._commonest(node, known, routing)
        if rest:
            whole = _block(self._everybody[0], self._everybody[-1])
            yield self._route(node, _text(whole), rest)
        entries = sorted(
            (self._numbers[host], hops) for host, hops in known.items() if hops != rest
        )
        for block, hops in summary(entries, self._everybody):
            yield self._route(node, _text(block), hops)

    def _next_hops(self, node: str, routing: Routing) -> dict[str, Hops]:
        """The next hops to each host. Packets to a host that cannot be reached any more still go
        where they went before, and are lost at the cut.
        """
        known = {host: hops for hops, hosts in routing.groups(node) for host in hosts}
        if routing is not self._whole:
            for host in routing.lost(node):
                if hops := self._whole.hops(node, host):
                    known[host] = hops
        return known | routing.manual_routes(node)

    def _commonest(self, node: str, known: dict[str, Hops], routing: Routing) -> Hops:
        """The next hops of all hosts without their own route; none if some hosts cannot be reached,
        because packets to them would go in circles.
        """
        if rest := routing.rest(node):
            return rest
        counts: dict[Hops, int] = {}
        for hops in known.values():
            counts[hops] = counts.get(hops, 0) + 1
        complete = len(known) >= len(routing.hosts) - (node not in routing.switches)
        if not counts or not complete:
            return ()
        return max(counts, key=lambda hops: counts[hops])

    def _route(self, node: str, destination: str, hops: Hops) -> Route:
        route_hops = []
        for near, link in hops:
            address = self._addresses[near]
            via = "" if address == destination else address
            route_hops.append(Hop(interface=self._interfaces[link][node], via=via))
        first, *others = route_hops
        return Route(
            destination=destination, interface=first.interface, via=first.via, also=tuple(others)
        )


def summary(entries: Entries, everybody: list[int]) -> Iterator[tuple[Block, Hops]]:
    """The fewest blocks that hold all entries and no other address of `everybody`, the ordered list
    of all addresses.
    """
    if not entries:
        return
    start, size = block = _block(entries[0][0], entries[-1][0])
    inside = bisect_left(everybody, start + size) - bisect_left(everybody, start)
    if inside == len(entries) and all(hops == entries[0][1] for _, hops in entries):
        yield block, entries[0][1]
        return
    middle = bisect_left(entries, start + size // 2, key=lambda entry: entry[0])
    yield from summary(entries[:middle], everybody)
    yield from summary(entries[middle:], everybody)


def _block(first: int, last: int) -> Block:
    """The smallest block with both addresses in it."""
    size = 1 << (first ^ last).bit_length()
    return first & ~(size - 1), size


def _text(block: Block) -> str:
    start, size = block
    first = str(IPv4Address(start))
    return f"{first}/{33 - size.bit_length()}" if size > 1 else first
