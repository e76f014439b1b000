"""What links, ports and hosts do; `box.py` calls it inside a box."""

from __future__ import annotations

import math
import os
import socket
import statistics
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from streambed import record
from streambed.net.network import Network
from streambed.net.ports import METRICS
from streambed.net.wires import Wire

PORT = 7777
ECHO_LIMIT_S = 1.0
ETHERTYPE_IP = 0x0800


def serve_echo(net: Network, node: str) -> Counter[str]:
    """Answer datagrams on a host for as long as the box lasts, and count them."""

    def serve() -> None:
        while True:
            asked, client = server.recvfrom(2048)
            count["asked"] += 1
            server.sendto(asked, client)

    count: Counter[str] = Counter()
    server = net.hosts[node].call(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
    server.bind(("", PORT))
    threading.Thread(target=serve, daemon=True).start()
    return count


def round_trip_ms(
    net: Network, source: str, target: str, limit_s: float = ECHO_LIMIT_S
) -> float | None:
    """The time of one datagram there and back by name; None if it did not come back."""

    def ask() -> float | None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
            client.settimeout(limit_s)
            start = time.perf_counter()
            try:
                client.sendto(b"?", (target, PORT))
                client.recvfrom(2048)
            except OSError:
                return None
            return (time.perf_counter() - start) * 1e3

    return net.hosts[source].call(ask)


def round_trips(net: Network, count: int = 40) -> dict[str, Any]:
    """Round trips from the first host to the last."""
    source, *_, target = [
        name for name, host in net.hosts.items() if not host.name.startswith("switch")
    ]
    serve_echo(net, target)
    round_trip_ms(net, source, target)  # Neighbours learn of each other by the first.
    times = [measured for _ in range(count) if (measured := round_trip_ms(net, source, target))]
    quarter, median, three_quarters = statistics.quantiles(times)
    return {"least_ms": min(times), "median_ms": median, "middle_half_ms": three_quarters - quarter}


def throughput(net: Network, seconds: float = 3.0) -> dict[str, Any]:
    """What TCP brings from a to b, counted at the port of b: a reader would wait in vain now and
    then while TCP repairs a loss.
    """
    let_flow(net)
    record.wait_until(lambda: False, limit_s=0.5)  # TCP's slow start.
    return {"mbit_per_s": mbit_per_s(net, seconds)}


def loaded_round_trips(net: Network, count: int = 15) -> dict[str, Any]:
    """Round trips from a to b while TCP fills that way."""
    serve_echo(net, "b")
    let_flow(net)
    record.wait_until(lambda: False, limit_s=2)  # TCP's slow start, and what it overshoots.
    times = [measured for _ in range(count) if (measured := round_trip_ms(net, "a", "b"))]
    return {"median_ms": statistics.median(times), "mbit_per_s": mbit_per_s(net, 1.0)}


def let_flow(net: Network) -> None:
    """Fill the way from a to b for as long as the box lasts."""
    server = net.hosts["b"].call(lambda: socket.create_server(("", PORT)))
    client = net.hosts["a"].call(lambda: socket.create_connection(("b", PORT), 5))
    channel, _ = server.accept()
    for act in (_pour, _drink):
        threading.Thread(
            target=act, args=(client if act is _pour else channel,), daemon=True
        ).start()


def mbit_per_s(net: Network, seconds: float) -> float:
    start, before = time.monotonic(), _bytes_at(net, "b/eth0")
    record.wait_until(lambda: False, limit_s=seconds)
    return (_bytes_at(net, "b/eth0") - before) * 8 / (time.monotonic() - start) / 1e6


def _pour(client: socket.socket) -> None:
    with suppress(OSError):  # The box goes while this still pours.
        while True:
            client.sendall(bytes(65536))


def _drink(channel: socket.socket) -> None:
    while channel.recv(65536):
        pass


def _bytes_at(net: Network, port: str) -> int:
    return int(net.ports.read()[len(METRICS) * net.ports.names.index(port)])


def loss(net: Network, count: int = 2000) -> dict[str, Any]:
    """How many of `count` datagrams from a arrive at b."""
    server, client = (
        net.hosts[name].call(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        for name in "ba"
    )
    server.bind(("", PORT))
    net.hosts["a"].call(lambda: client.connect(("b", PORT)))
    arrived = 0
    for _ in range(
        count // 50
    ):  # What waits to be read is bounded: a full buffer would lose packets too.
        for _ in range(50):
            client.send(b"?")
        arrived += _received(server, 0.005)
    return {"sent": count, "arrived": arrived + _received(server, 0.5)}


def _received(server: socket.socket, patience_s: float) -> int:
    """How many datagrams come until none comes for this long."""
    server.settimeout(patience_s)
    count = 0
    with suppress(TimeoutError):
        while server.recv(64):
            count += 1
    return count


def segments(net: Network) -> dict[str, Any]:
    """How many packets the delay line lets go, or drops, for one megabyte of TCP."""
    server = net.hosts["b"].call(lambda: socket.create_server(("", PORT)))
    client = net.hosts["a"].call(lambda: socket.create_connection(("b", PORT), 5))
    channel, _ = server.accept()
    threading.Thread(target=client.sendall, args=(bytes(1_000_000),), daemon=True).start()
    left = 1_000_000
    while left:
        left -= len(channel.recv(left))
    before = net.delay_line_gauges()
    record.wait_until(lambda: net.delay_line_gauges() != before, limit_s=3)
    return asdict(net.delay_line_gauges()[-1])


def wire_of_a(net: Network) -> tuple[Wire, tuple[str, ...]]:
    """The wire of a, and the names of its ends."""
    (wire,) = [
        wire for wire in net.wires.values() if "a" in {port.node for port in wire.link.ports}
    ]
    return wire, tuple(port.node for port in wire.link.ports)


def gaps(net: Network, size: int = 1_000_000) -> dict[str, Any]:
    """How many segments TCP missed at a time on the way to b, as seen at the port of b: {how many
    in a row: how often}.
    """
    server = net.hosts["b"].call(lambda: socket.create_server(("", PORT)))
    server.setsockopt(
        socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16
    )  # No more on its way than `watch` can hold.
    watch = net.hosts["b"].call(
        lambda: socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ETHERTYPE_IP))
    )
    watch.settimeout(ECHO_LIMIT_S)
    client = net.hosts["a"].call(lambda: socket.create_connection(("b", PORT), 5))
    channel, _ = server.accept()
    threading.Thread(target=client.sendall, args=(bytes(size),), daemon=True).start()
    threading.Thread(target=_drink, args=(channel,), daemon=True).start()
    longest = client.getsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG)
    missed: Counter[int] = Counter()
    reached = 0
    for start, end in _segments_seen(watch):
        if start > reached:
            missed[math.ceil((start - reached) / longest)] += (
                1  # A segment at the end of a window may be short.
            )
        reached = max(reached, end)
    return {"missed": missed}


def _segments_seen(watch: socket.socket) -> Iterator[tuple[int, int]]:
    """Where each segment with content begins and ends in the stream, until nothing comes any
    more.
    """
    first = None
    with suppress(TimeoutError):
        while True:
            packet, (_, _, kind, *_) = watch.recvfrom(128)
            if kind == socket.PACKET_OUTGOING:
                continue
            total_bytes, head_bytes = (
                struct.unpack_from("!H", packet, 2)[0],
                20 + (packet[32] >> 4) * 4,
            )
            sequence = struct.unpack_from("!I", packet, 24)[0]
            first = (
                first or sequence + 1
            )  # The connection's first packet has no content, but counts as one byte.
            start = (sequence - first) % (1 << 32)
            if total_bytes > head_bytes:
                yield start, start + total_bytes - head_bytes


def settle() -> None:
    """An order to the delay line takes a moment to arrive."""
    record.wait_until(lambda: False, limit_s=0.05)


def surroundings(net: Network) -> dict[str, Any]:
    """What a program on a host sees: names, its /tmp, its interfaces."""

    def look() -> dict[str, Any]:
        Path("/tmp/mine").touch()
        names = [line.split()[1] for line in Path("/etc/hosts").read_text().splitlines()]
        interfaces = sorted(name for _, name in socket.if_nameindex())
        return {
            "hostname": socket.gethostname(),
            "names": names,
            "tmp": sorted(os.listdir("/tmp")),
            "interfaces": interfaces,
        }

    return net.hosts["a"].call(look)


def built(net: Network) -> dict[str, Any]:
    """Nothing but that it could be built, and its ports be read."""
    return {"hosts": len(net.hosts), "ports": len(net.ports.by_name())}


def counted(net: Network) -> dict[str, Any]:
    """What the ports are said to have carried after a round trip, and what the host at each of them
    itself counts; idle hosts' threads.
    """
    serve_echo(net, "h1")
    round_trip_ms(net, "h0", "h1")
    ports = {"h0", "h1", "switch0", "switch1"}
    output = dict(
        zip(
            net.ports.names, zip(*[iter(net.ports.read())] * len(METRICS), strict=True), strict=True
        )
    )
    own = {
        f"{name}/{row[0].rstrip(':')}": (int(row[1]), int(row[9]), int(row[2]), int(row[10]))
        for name in ports
        for row in map(str.split, net.hosts[name].counters().decode().splitlines()[2:])
        if row[0] != "lo:"
    }
    threads = [thread.name for thread in threading.enumerate() if thread.name.startswith("host ")]
    return {"said": {port: output[port] for port in own}, "own": own, "threads": sorted(threads)}


MEASURES: dict[str, Callable[..., dict[str, Any]]] = {
    function.__name__: function
    for function in (
        round_trips,
        throughput,
        loaded_round_trips,
        loss,
        segments,
        surroundings,
        built,
        counted,
        gaps,
    )
}
