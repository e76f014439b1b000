"""Probing: send a few packets over each direction of each link and measure their delays.

All hosts share one clock, so a numbered packet is enough to tell its delay.
"""

from __future__ import annotations

import math
import select
import socket
import struct
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from statistics import median

from streambed.net.hosts import visit
from streambed.plan import Plan, Port, Shape
from streambed.record import now_ns
from streambed.runner.live_world import LiveWorld

PORT = 47_808
PROBES, PROBES_LEAST, PROBES_MOST = 10, 3, 100
APART_NS = 100_000
"""Between two packets, so that they do not wait for each other."""
SPREAD_NS, SPREAD_MOST_NS = 50_000_000, 1_000_000_000
"""Time over which packets are spread, so that one busy moment does not affect all; and its maximum.
"""
PATIENCE_NS = 100_000_000
"""How long after its expected arrival a packet is waited for."""
_packet = struct.Struct("!II")


@dataclass(frozen=True, kw_only=True)
class ProbedDirection:
    """One direction of a link, or a loopback, with the send times and delays of its packets."""

    link: str
    sender: Port
    receiver: Port
    shape: Shape
    sent_ns: list[int] = field(default_factory=list)
    took_ns: dict[int, int] = field(default_factory=dict)

    @property
    def key(self) -> tuple[str, str]:
        """The link, and the node that sends."""
        return self.link, self.sender.node


def directions_of(plan: Plan) -> Iterator[ProbedDirection]:
    """Both directions of every link, before any packet is sent."""
    for link in plan.links:
        for (sender, receiver), shape in zip(
            (link.ports, link.ports[::-1]), link.shapes, strict=True
        ):
            yield ProbedDirection(link=link.name, sender=sender, receiver=receiver, shape=shape)


def measure(world: LiveWorld, directions: list[ProbedDirection]) -> int:
    """Send packets over all directions and a loopback; returns the median delay of the loopback."""
    first = world.plan.nodes[0].name
    port = Port(node=first, interface="lo", index=1)
    loopback = ProbedDirection(link="", sender=port, receiver=port, shape=Shape())
    with sockets(
        world,
        {
            port
            for direction in (*directions, loopback)
            for port in (direction.sender, direction.receiver)
        },
    ) as opened:
        exchange([*directions, loopback], opened, world.plan.addresses())
    return round(median(loopback.took_ns.values())) if loopback.took_ns else 0


@contextmanager
def sockets(world: LiveWorld, ports: Iterable[Port]) -> Iterator[dict[Port, socket.socket]]:
    """A socket bound to each port's interface, so that routes do not matter; to none if it has no
    name.
    """
    by_node: dict[str, list[Port]] = defaultdict(list)
    for port in ports:
        by_node[port.node].append(port)
    opened = visit(
        {
            world.network.hosts[node]: partial(_open_sockets, wanted)
            for node, wanted in by_node.items()
        }
    )
    with ExitStack() as stack:
        yield {port: stack.enter_context(end) for ends in opened for port, end in ends.items()}


def _open_sockets(ports: list[Port]) -> dict[Port, socket.socket]:
    """Runs in the network of these ports."""
    made = {
        port: socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        for port in ports
    }
    for port, end in made.items():
        end.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, port.interface.encode())
        end.bind(("", PORT))
    return made


def schedule(directions: list[ProbedDirection]) -> deque[tuple[int, int, int]]:
    """The packets to send, in order: time in ns since the start, direction, packet number."""
    each = max(PROBES_LEAST, min(PROBES, SPREAD_MOST_NS // APART_NS // len(directions)))
    counts = [_count(direction.shape, each) for direction in directions]
    span_ns = max(SPREAD_NS, sum(counts) * APART_NS)
    times = [
        (round((packet + number / len(directions)) * span_ns / count), number, packet)
        for number, count in enumerate(counts)
        for packet in range(count)
    ]
    return deque(sorted(times))


def arriving(shape: Shape) -> float:
    """The share of packets that should arrive whole."""
    bad = shape.loss_enter / (shape.loss_enter + shape.loss_leave) if shape.loss_enter else 0.0
    lost = bad * shape.loss_bad + (1 - bad) * shape.loss_good if shape.loss_enter else shape.loss
    return (1 - lost) * (1 - shape.corrupt)


def _count(shape: Shape, each: int) -> int:
    """How many packets to send so that about `each` arrive; the most if losses come in bursts."""
    share = arriving(shape)
    if share <= 0:
        return 0
    if shape.loss_enter:
        return PROBES_MOST
    return min(PROBES_MOST, math.ceil(each / share))


def exchange(
    directions: list[ProbedDirection],
    opened: dict[Port, socket.socket],
    addresses: dict[str, str],
    patience_ns: int = PATIENCE_NS,
) -> None:
    """Send and receive in turn, until every packet has arrived or is overdue."""
    waiting = schedule(directions)
    began_ns = now_ns()
    by_descriptor = {end.fileno(): end for end in opened.values()}
    last_due_ns = waiting[-1][0]
    end_ns = began_ns + last_due_ns + _slowest_ns(directions) + patience_ns
    missing = len(waiting)
    with select.epoll() as poll:
        for descriptor in by_descriptor:
            poll.register(descriptor, select.EPOLLIN)
        while missing and now_ns() < end_ns:
            next_ns = began_ns + waiting[0][0] if waiting else end_ns
            pause_s = max(0, next_ns - now_ns()) / 1e9
            for descriptor, _ in poll.poll(pause_s):
                missing -= _receive(directions, by_descriptor[descriptor])
            if waiting and next_ns <= now_ns():
                _, number, packet = waiting.popleft()
                _send(directions[number], opened, addresses, _packet.pack(number, packet))


def _slowest_ns(directions: list[ProbedDirection]) -> int:
    """The longest delay to expect of a packet."""
    shapes = [direction.shape for direction in directions]
    return max(shape.delay_ns + 4 * shape.jitter_ns for shape in shapes)


def _send(
    direction: ProbedDirection,
    opened: dict[Port, socket.socket],
    addresses: dict[str, str],
    content: bytes,
) -> None:
    target = (
        "127.0.0.1"
        if direction.sender == direction.receiver
        else addresses[direction.receiver.node]
    )
    direction.sent_ns.append(now_ns())
    with suppress(OSError):  # What cannot be sent does not arrive: that is what is counted.
        opened[direction.sender].sendto(content, (target, PORT))


def _receive(directions: list[ProbedDirection], end: socket.socket) -> int:
    """Receive one packet; returns 1 if it is valid and no duplicate, else 0."""
    try:
        content, arrived_ns = end.recv(_packet.size), now_ns()
    except BlockingIOError:
        return 0  # The kernel woke us for a packet that it then found damaged.
    number, packet = (
        _packet.unpack(content) if len(content) == _packet.size else (len(directions), 0)
    )
    if (
        number >= len(directions)
        or packet >= len(directions[number].sent_ns)
        or packet in directions[number].took_ns
    ):
        return 0  # A link may be declared to corrupt or to duplicate.
    directions[number].took_ns[packet] = arrived_ns - directions[number].sent_ns[packet]
    return 1
