"""Calibration of rates: offer each link with a rate more than it carries, and count arrivals.

    offered: 1.2 times the rate ──▶ tbf ──── veth ────▶ the kernel's counters of the receiving port

The counters are read when the first packets have arrived and again at the end, so that no program
has to receive them. Links are measured together as long as this machine can fill them all.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from streambed.plan import Port
from streambed.record import now_ns, wait_until
from streambed.runner.calibration.probing import PORT, ProbedDirection, arriving, sockets
from streambed.runner.live_world import LiveWorld

HEADERS_BYTES = 14 + 20 + 8
LARGE_BYTES, SMALL_BYTES, SMALL_BELOW_BPS = 1_400, 200, 5_000_000
"""Payload of a packet: small on slow links, so that enough packets pass."""
BUNDLE_PACKETS = 40
UDP_SEGMENT = 103
SEND_BUFFER_BYTES = 1 << 20
OFFERED, HEAD_START_BYTES = 1.2, 8_000
"""Load offered as a multiple of the rate, and an initial burst that empties the token bucket."""
SETTLE_S, WINDOW_S, WINDOW_MOST_S, PACKETS_LEAST = 0.3, 0.8, 10.0, 50
TOGETHER_BPS = 500_000_000
STEP_S = 0.001


@dataclass(kw_only=True)
class Flood:
    """One direction that is being filled."""

    direction: ProbedDirection
    end: socket.socket
    target: tuple[str, int]
    sent_bytes: float = -HEAD_START_BYTES
    began_ns: int = 0
    carried_bytes: int = 0
    """What had arrived at `began_ns`."""

    @property
    def packet_bytes(self) -> int:
        """The payload of a packet: small ones for slow links."""
        return LARGE_BYTES if self.direction.shape.rate_bps >= SMALL_BELOW_BPS else SMALL_BYTES

    @property
    def window_s(self) -> float:
        """How long to count, so that a single packet does not matter."""
        needed_s = (
            PACKETS_LEAST * (self.packet_bytes + HEADERS_BYTES) * 8 / self.direction.shape.rate_bps
        )
        return min(WINDOW_MOST_S, max(WINDOW_S, needed_s))

    def offer(self, elapsed_s: float) -> None:
        """Send what is due by now; what a full socket buffer refuses counts as sent."""
        owed = (
            OFFERED * self.direction.shape.rate_bps / 8 * elapsed_s / arriving(self.direction.shape)
            - self.sent_bytes
        )
        while owed >= self.packet_bytes:
            count = min(BUNDLE_PACKETS, int(owed // self.packet_bytes))
            bundle = [(socket.IPPROTO_UDP, UDP_SEGMENT, struct.pack("=H", self.packet_bytes))]
            try:
                self.end.sendmsg([bytes(count * self.packet_bytes)], bundle, 0, self.target)
            except BlockingIOError:
                self.sent_bytes += owed
                return
            self.sent_bytes += count * self.packet_bytes
            owed -= count * self.packet_bytes

    def arrived_bytes(self, world: LiveWorld) -> int:
        """Bytes on the wire at the receiving port; its counter has one header per bundle."""
        receiver = self.direction.receiver
        received, _, packets, _ = world.network.ports.by_name()[
            f"{receiver.node}/{receiver.interface}"
        ]
        return round((received - HEADERS_BYTES * packets) * (1 + HEADERS_BYTES / self.packet_bytes))


def rates(world: LiveWorld, directions: list[ProbedDirection]) -> dict[tuple[str, str], int]:
    """Bits a second of each of these that has a rate, by link and the node that sends."""
    measured_bps: dict[tuple[str, str], int] = {}
    for group in groups(directions):
        measured_bps.update(_measure_together(world, group))
    return measured_bps


def groups(directions: Iterable[ProbedDirection]) -> Iterator[list[ProbedDirection]]:
    """The directions with a rate, as many at once as can be filled."""
    group: list[ProbedDirection] = []
    total_bps = 0
    for direction in directions:
        rate_bps = direction.shape.rate_bps
        if not rate_bps or arriving(direction.shape) <= 0:
            continue
        if group and total_bps + rate_bps > TOGETHER_BPS:
            yield group
            group = []
            total_bps = 0
        group.append(direction)
        total_bps += rate_bps
    if group:
        yield group


def _measure_together(
    world: LiveWorld, group: list[ProbedDirection]
) -> Iterator[tuple[tuple[str, str], int]]:
    addresses = world.plan.addresses()
    ports: set[Port] = set()
    for direction in group:
        ports.update((direction.sender, direction.receiver))
    slowest_ns = max(direction.shape.delay_ns + direction.shape.jitter_ns for direction in group)
    settled_s = SETTLE_S + slowest_ns / 1e9
    with sockets(world, ports) as opened:
        floods = []
        for direction in group:
            target = addresses[direction.receiver.node], PORT
            floods.append(_open_flood(direction, opened[direction.sender], target))
        window_s = max(flood.window_s for flood in floods)
        began_ns = now_ns()
        _fill(world, floods, began_ns, until_s=settled_s)
        for flood in floods:
            flood.began_ns = now_ns()
            flood.carried_bytes = flood.arrived_bytes(world)
        _fill(world, floods, began_ns, until_s=settled_s + window_s)
        for flood in floods:
            yield flood.direction.key, _carried_bps(world, flood)


def _carried_bps(world: LiveWorld, flood: Flood) -> int:
    """The mean rate since the flood began to be counted."""
    carried_bytes = flood.arrived_bytes(world) - flood.carried_bytes
    passed_s = (now_ns() - flood.began_ns) / 1e9
    return round(carried_bytes * 8 / passed_s)


def _open_flood(direction: ProbedDirection, end: socket.socket, target: tuple[str, int]) -> Flood:
    end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER_BYTES)
    return Flood(direction=direction, end=end, target=target)


def _fill(world: LiveWorld, floods: list[Flood], began_ns: int, *, until_s: float) -> None:
    def offered() -> bool:
        world.watch_network()
        elapsed_s = (now_ns() - began_ns) / 1e9
        for flood in floods:
            flood.offer(elapsed_s)
        return elapsed_s >= until_s

    wait_until(offered, limit_s=until_s + 1, step_s=STEP_S)
