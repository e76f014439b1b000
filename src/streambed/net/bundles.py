"""Where TCP must send single packets instead of bundles (segmentation offload), which are faster.

A bundle that meets a link is treated as one packet: lost, doubled or delayed whole, and it may be
larger than a short queue. The delay line has the kernel take bundles apart where it treats packets
one by one; netem cannot, nor can a bucket with a short queue. So hosts must not make bundles in the
first place: those whose packets may cross such a link, by the routes of the plan, now or when a
fault changes it, because existing connections keep bundling.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator

from streambed.plan import Plan, PlannedNode, Port, Shape

BUNDLE_BYTES = 65_536
SHORT_QUEUE_BYTES = 4 * BUNDLE_BYTES

_ALL = 0
_EVERY_BIT = 0xFFFFFFFF


def ports_without_bundles(plan: Plan) -> list[Port]:
    """The ports of hosts through which packets go that may cross a link that needs them single."""
    by_netem = plan.machine.means == "netem"
    hosts = {node.name for node in plan.nodes if not node.switch}
    ports = [port for link in plan.links for port in link.ports if port.node in hosts]
    needy = [
        port
        for port, shapes in _directions(plan)
        if any(_needs_single(shape, by_netem=by_netem) for shape in shapes)
    ]
    if needy and plan.reroutes:
        return ports  # Any path may become the route of a packet.
    single = {port for port in needy if port.node in hosts}
    upstream = _Senders(plan)
    for port in needy:
        if len(single) == len(ports):
            break
        if port.node not in hosts:  # Hosts do not pass on what others send.
            single |= {sender for sender in upstream.through(port) if sender.node in hosts}
    return [port for port in ports if port in single]


def _directions(plan: Plan) -> Iterator[tuple[Port, tuple[Shape, ...]]]:
    """The sending port of every direction, and what that direction is or may become."""
    for link in plan.links:
        for port, shape, changed in zip(link.ports, link.shapes, link.changed, strict=True):
            yield port, (shape, *changed)


def _needs_single(shape: Shape, *, by_netem: bool) -> bool:
    return 0 < shape.queue_bytes < SHORT_QUEUE_BYTES or (by_netem and shape.selective)


class _Senders:
    """The ports upstream of a port, found by following the routes backwards."""

    def __init__(self, plan: Plan) -> None:
        self._tables = {node.name: _table(node) for node in plan.nodes}
        self._hosts = {node.name: _number(node.address) for node in plan.nodes if not node.switch}
        self._into: dict[str, list[Port]] = {node.name: [] for node in plan.nodes}
        for link in plan.links:
            for near, far in (link.ports, link.ports[::-1]):
                self._into[far.node].append(near)

    def through(self, port: Port) -> set[Port]:
        """Every port through which packets go that later leave by `port`."""
        senders: set[Port] = set()
        for destination in self._hosts.values():
            waiting = [port] if self._leaves(port, destination) else []
            seen = set(waiting)
            while waiting:
                node = waiting.pop().node
                if node in self._hosts:
                    continue
                unseen = [near for near in self._into[node] if near not in seen]
                before = [near for near in unseen if self._leaves(near, destination)]
                seen.update(before)
                waiting += before
            senders |= seen
        return senders

    def _leaves(self, port: Port, destination: int) -> bool:
        """Whether packets for an address leave by a port; a host sends itself none."""
        return self._hosts.get(port.node) != destination and port.interface in self._interfaces(
            port.node, destination
        )

    def _interfaces(self, node: str, destination: int) -> tuple[str, ...]:
        """Where a node sends packets for an address: the longest match counts."""
        for mask, routes in self._tables[node]:
            if (destination & mask) in routes:
                return routes[destination & mask]
        return ()


def _table(node: PlannedNode) -> list[tuple[int, dict[int, tuple[str, ...]]]]:
    """Routes by mask, the longest first."""
    table: dict[int, dict[int, tuple[str, ...]]] = {}
    for route in node.routes:
        address, _, length = route.destination.partition("/")
        mask, network = _ALL, 0
        if address != "default":
            mask = (_EVERY_BIT << (32 - int(length or 32))) & _EVERY_BIT
            network = _number(address) & mask
        interfaces = tuple(hop.interface for hop in route.hops)
        table.setdefault(mask, {})[network] = interfaces
    return sorted(table.items(), reverse=True)


def _number(address: str) -> int:
    number: int = struct.unpack("!I", socket.inet_aton(address))[0]
    return number
