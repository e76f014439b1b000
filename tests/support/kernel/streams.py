"""What becomes of numbered datagrams on their way from one host to another: how long each takes,
which overtake, are missing, come twice or are damaged; while the link is as planned, and while it
is changed.
"""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import groupby
from statistics import fmean, median, pstdev
from typing import Any

from streambed import record
from streambed.net.network import Network
from streambed.net.wires import Wire

SO_NO_CHECK = 11
HEAD = struct.Struct("=Id")
FILLING = bytes(range(250)) * 4
QUIET_S = 0.7


@dataclass
class Arrivals:
    """What came, in the order in which it came."""

    numbers: list[int] = field(default_factory=list)
    delays_ms: list[float] = field(default_factory=list)
    damaged: int = 0
    latest_s: float = 0.0

    def note(self, packet: bytes) -> None:
        """One datagram came."""
        self.latest_s = time.monotonic()
        number, sent_s = HEAD.unpack_from(packet)
        if packet[HEAD.size :] != FILLING or not 0 <= self.latest_s - sent_s < 10:
            self.damaged += 1
            return
        self.numbers.append(number)
        self.delays_ms.append((self.latest_s - sent_s) * 1e3)


def stream(net: Network, source: str, target: str, count: int, gap_s: float) -> dict[str, Any]:
    """Send `count` datagrams, `gap_s` apart or all at once, and say what became of them."""

    def receive() -> None:
        with suppress(OSError):  # It is shut when all is over.
            while packet := server.recv(2048):
                arrivals.note(packet)

    arrivals = Arrivals()
    server = net.hosts[target].call(_socket)
    server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 21)
    server.bind(("", 0))
    threading.Thread(target=receive, daemon=True).start()
    client = net.hosts[source].call(_socket)
    client.setsockopt(socket.SOL_SOCKET, SO_NO_CHECK, 1)  # Damaged ones shall arrive.
    net.hosts[source].call(lambda: client.connect((target, server.getsockname()[1])))
    for number in range(count):
        client.send(HEAD.pack(number, time.monotonic()) + FILLING)
        if gap_s:
            record.wait_until(lambda: False, limit_s=gap_s)
    arrivals.latest_s = time.monotonic()
    record.wait_until(lambda: time.monotonic() - arrivals.latest_s > QUIET_S, limit_s=20)
    client.close()
    with suppress(OSError):  # Shutting wakes the receiver, although nobody is connected.
        server.shutdown(socket.SHUT_RDWR)
    return _summary(arrivals, count)


def _socket() -> socket.socket:
    return socket.socket(socket.AF_INET, socket.SOCK_DGRAM)


def _summary(arrivals: Arrivals, count: int) -> dict[str, Any]:
    came = set(arrivals.numbers)
    missing = [
        len(list(run))
        for lost, run in groupby(number not in came for number in range(count))
        if lost
    ]
    first = (
        [
            number
            for at, number in enumerate(arrivals.numbers)
            if number not in arrivals.numbers[:at]
        ]
        if count <= 5000
        else []
    )
    highest, overtaken = -1, 0
    for number in first:
        overtaken += number < highest
        highest = max(highest, number)
    delays = sorted(arrivals.delays_ms) or [0.0]
    return {
        "sent": count,
        "arrived": len(came),
        "twice": len(arrivals.numbers) - len(came),
        "damaged": arrivals.damaged,
        "gaps": missing,
        "overtaken": overtaken,
        "mean_ms": fmean(delays),
        "deviation_ms": pstdev(delays),
        "median_ms": median(delays),
        "least_ms": delays[0],
        "most_ms": delays[-1],
        "delays_ms": [round(delay, 2) for delay in delays],
    }


def both_ways(net: Network) -> dict[str, Any]:
    """A stream from a to b, then one from b to a."""
    return {"there": stream(net, "a", "b", 600, 0.002), "back": stream(net, "b", "a", 600, 0.002)}


def long_stream(net: Network) -> dict[str, Any]:
    """Many datagrams from a to b, and some back."""
    return {
        "there": stream(net, "a", "b", 3000, 0.0005),
        "back": stream(net, "b", "a", 300, 0.0005),
    }


def volleys(net: Network) -> dict[str, Any]:
    """Forty datagrams at once each way."""
    return {"there": stream(net, "a", "b", 40, 0), "back": stream(net, "b", "a", 40, 0)}


CHANGES: dict[str, dict[str, Any]] = {
    "normal": {"delay_ns": 60_000_000, "jitter_ns": 10_000_000, "distribution": "normal"},
    "uniform in order": {"delay_ns": 60_000_000, "jitter_ns": 20_000_000, "in_order": True},
    "bursts": {"loss_enter": 0.1, "loss_leave": 0.2, "loss_bad": 1.0, "loss_good": 0.0},
    "reorder": {"reorder": 0.3},
    "duplicate": {"duplicate": 0.5},
    "corrupt": {"corrupt": 0.5},
    "queue": {"rate_bps": 1_000_000, "queue_bytes": 15_000},
}


def changes(net: Network) -> dict[str, Any]:
    """What becomes of a stream from a while the wire of a does each of CHANGES, from a alone, and
    after it was healed.
    """
    (wire,) = [wire for wire in net.wires.values() if "a" in wire.ends]
    measured = {name: _changed(net, wire, change) for name, change in CHANGES.items()}
    return measured | {
        "after": stream(net, "a", "b", 200, 0.001),
        "back": stream(net, "b", "a", 100, 0.001),
    }


def _changed(net: Network, wire: Wire, change: dict[str, Any]) -> dict[str, Any]:
    heal = wire.degrade(("a",), change)
    measured = (
        stream(net, "a", "b", 40, 0)
        if "queue_bytes" in change
        else stream(net, "a", "b", 200, 0.001)
    )
    heal()
    return measured


STREAMS: dict[str, Callable[[Network], dict[str, Any]]] = {
    function.__name__: function for function in (both_ways, long_stream, volleys, changes)
}
