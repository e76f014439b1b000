"""Calibration: before anything runs, the delay of each way of each link is measured by a few packets over that very wire.

All hosts share one clock, so a packet that says which one it is tells how long it took. The loopback of a host is measured beside the
links: what a packet takes there is what sending and receiving cost, and no link's fault. A way that is wrong is measured again,
because a busy moment of the machine passes, and a wrong link stays wrong.
"""

from __future__ import annotations

import math
import select
import socket
import struct
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from functools import partial
from statistics import fmean, median

from streambed.fidelity import Calibrated
from streambed.plan import Plan, Port, Shape
from streambed.record import now_ns
from streambed.runner.live_world import LiveWorld

PORT = 47_808
ROUNDS = 3
PROBES, PROBES_LEAST, PROBES_MOST = 10, 3, 100
APART_NS = 100_000
"""Between two packets, so that they do not wait for each other."""
SPREAD_NS, SPREAD_MOST_NS = 50_000_000, 1_000_000_000
"""The packets of a way are spread over so long, so that one busy moment does not meet all of them; and over so long at most."""
PATIENCE_NS = 100_000_000
"""So long after it was due a packet is waited for."""
CHANCE = 3.0
"""A mean may be off by so many of its standard errors."""
_packet = struct.Struct("!II")


@dataclass(frozen=True, kw_only=True)
class Way:
    """One way of a link, or a loopback; when each of its packets was sent, and what each took that came."""

    link: str
    sender: Port
    receiver: Port
    shape: Shape
    sent_ns: list[int] = field(default_factory=list)
    took_ns: dict[int, int] = field(default_factory=dict)


Found = dict[tuple[str, str], Calibrated]
"""By link and the node that sends."""


def calibrate(world: LiveWorld) -> None:
    """Measure all links at once and record what was found. Takes a tenth of a second and the longest delay."""
    began_ns, found, baseline_ns = now_ns(), Found(), 0
    for _ in range(ROUNDS):
        wanted = [way for way in ways_of(world.plan) if (way.link, way.sender.node) not in found or found[way.link, way.sender.node].wrong]
        if not wanted:
            break
        baseline_ns = measure(world, wanted)
        found |= {(way.link, way.sender.node): calibrated(way, baseline_ns) for way in wanted}
    for link in world.plan.links:
        world.record("calibrated", link=link.name, ways=[asdict(found[link.name, port.node]) for port in link.ports])
    world.record("calibration", links=len(world.plan.links), baseline_ns=baseline_ns, seconds=round((now_ns() - began_ns) / 1e9, 3))


def ways_of(plan: Plan) -> Iterator[Way]:
    """Both ways of every link, nothing sent yet."""
    for link in plan.links:
        for (sender, receiver), shape in zip((link.ports, link.ports[::-1]), link.shapes, strict=True):
            yield Way(link=link.name, sender=sender, receiver=receiver, shape=shape)


def expected_ns(shape: Shape) -> tuple[float, float]:
    """How long a packet should take in the mean, and the standard deviation of that: some draw jitter, some are not delayed at all."""
    deviation = shape.jitter_ns / (math.sqrt(3) if shape.distribution == "uniform" else 1)
    hasty = shape.reorder * (1 - shape.reorder) * shape.delay_ns**2
    return shape.delay_ns * (1 - shape.reorder), math.sqrt(deviation**2 + hasty)


def calibrated(way: Way, baseline_ns: int) -> Calibrated:
    """What the packets of a way say of it: their median where all should take the same, else their mean and what chance may do to it."""
    declared_ns, deviation_ns = expected_ns(way.shape)
    took = list(way.took_ns.values())
    measured_ns = (fmean(took) if deviation_ns else median(took)) - baseline_ns if took else None
    by_chance = deviation_ns if way.shape.in_order else deviation_ns / math.sqrt(len(took) or 1)  # Who may not overtake waits for others.
    return Calibrated(
        link=way.link,
        source=way.sender.node,
        target=way.receiver.node,
        declared_ns=round(declared_ns),
        measured_ns=None if measured_ns is None else round(measured_ns),
        chance_ns=round(CHANCE * by_chance),
        probes=len(way.sent_ns),
        arrived=len(took),
        loses_all=way.shape.loss >= 1,
    )


def measure(world: LiveWorld, ways: list[Way]) -> int:
    """Send packets over all ways, and over a loopback beside them; what one takes there."""
    first = world.plan.nodes[0].name
    port = Port(node=first, interface="lo", index=1)
    loopback = Way(link="", sender=port, receiver=port, shape=Shape())
    with _sockets(world, {port for way in (*ways, loopback) for port in (way.sender, way.receiver)}) as opened:
        _exchange([*ways, loopback], opened, world.plan.addresses())
    return round(median(loopback.took_ns.values())) if loopback.took_ns else 0


@contextmanager
def _sockets(world: LiveWorld, ports: Iterable[Port]) -> Iterator[dict[Port, socket.socket]]:
    """A socket at each port. What it sends leaves there, whatever routes say, and it hears nothing that came elsewhere."""
    by_node: dict[str, list[Port]] = defaultdict(list)
    for port in ports:
        by_node[port.node].append(port)
    begun = [world.network.hosts[node].begin(partial(_opened, wanted)) for node, wanted in by_node.items()]
    with ExitStack() as stack:
        yield {port: stack.enter_context(made) for future in begun for port, made in future.result().items()}


def _opened(ports: list[Port]) -> dict[Port, socket.socket]:
    """Runs in the host of these ports."""
    made = {port: socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK) for port in ports}
    for port, end in made.items():
        end.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, port.interface.encode())
        end.bind(("", PORT))
    return made


def schedule(ways: list[Way]) -> deque[tuple[int, int, int]]:
    """When which packet of which way leaves, in order: nanoseconds from the start, the way and the packet by number."""
    each = max(PROBES_LEAST, min(PROBES, SPREAD_MOST_NS // APART_NS // len(ways)))
    counts = [min(PROBES_MOST, math.ceil(each / (1 - loss))) if (loss := way.shape.loss) < 1 else 0 for way in ways]
    span_ns = max(SPREAD_NS, sum(counts) * APART_NS)
    times = [
        (round((packet + number / len(ways)) * span_ns / count), number, packet)
        for number, count in enumerate(counts)
        for packet in range(count)
    ]
    return deque(sorted(times))


def _exchange(ways: list[Way], opened: dict[Port, socket.socket], addresses: dict[str, str]) -> None:
    """Send and receive in turn, until every packet has come or none can come any more."""
    waiting, began_ns, by_descriptor = schedule(ways), now_ns(), {end.fileno(): end for end in opened.values()}
    patience_ns = PATIENCE_NS + max(way.shape.delay_ns + 4 * way.shape.jitter_ns for way in ways)
    end_ns, missing = began_ns + waiting[-1][0] + patience_ns, len(waiting)
    with select.epoll() as poll:
        for descriptor in by_descriptor:
            poll.register(descriptor, select.EPOLLIN)
        while missing and now_ns() < end_ns:
            next_ns = began_ns + waiting[0][0] if waiting else end_ns
            for descriptor, _ in poll.poll(max(0, next_ns - now_ns()) / 1e9):
                missing -= _receive(ways, by_descriptor[descriptor])
            if waiting and next_ns <= now_ns():
                _, number, packet = waiting.popleft()
                _send(ways[number], opened, addresses, _packet.pack(number, packet))


def _send(way: Way, opened: dict[Port, socket.socket], addresses: dict[str, str], content: bytes) -> None:
    target = "127.0.0.1" if way.sender == way.receiver else addresses[way.receiver.node]
    way.sent_ns.append(now_ns())
    opened[way.sender].sendto(content, (target, PORT))


def _receive(ways: list[Way], end: socket.socket) -> int:
    """Take one packet; how many have come for the first time by that."""
    content, arrived_ns = end.recv(_packet.size), now_ns()
    number, packet = _packet.unpack(content)
    way = ways[number]
    if packet in way.took_ns:
        return 0  # A link may be declared to duplicate.
    way.took_ns[packet] = arrived_ns - way.sent_ns[packet]
    return 1
