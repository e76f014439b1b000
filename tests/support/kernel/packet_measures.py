"""What becomes of single packets, and who may run in real time; `box.py` calls it inside a box."""

from __future__ import annotations

import os
import socket
import statistics
import struct
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from streambed.net.network import Network

PORT = 7779
PACKETS = 600
SWITCH = "10.255.0.1"
ECHO = struct.pack("!BBHHH", 8, 0, 0xF7FF, 0, 0)
"""An ICMP echo request of nothing, with its checksum."""


def arrivals(net: Network, source: str = "a", target: str = "b") -> dict[str, Any]:
    """What becomes of numbered datagrams: how many came, how often one twice, how many after a
    later one, how many were damaged.
    """
    server, client = (
        net.hosts[name].call(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        for name in (target, source)
    )
    server.bind(("", PORT))
    server.settimeout(0.5)
    net.hosts[source].call(lambda: client.connect((target, PORT)))
    came: list[int] = []

    def send() -> None:
        for number in range(PACKETS):
            client.send(struct.pack("=I", number) + bytes(100))
            time.sleep(0.0005)

    threading.Thread(target=send).start()
    with suppress(TimeoutError):
        while True:
            came.append(struct.unpack_from("=I", server.recv(200))[0])
    counts = Counter(came)
    later = sum(number < max(came[:place], default=0) for place, number in enumerate(came))
    damaged = counters(net, target, "Udp")["InCsumErrors"]
    return {
        "sent": PACKETS,
        "came": len(counts),
        "twice": sum(count == 2 for count in counts.values()),
        "later": later,
        "damaged": damaged,
    }


def arrivals_back(net: Network) -> dict[str, Any]:
    """The same the other way."""
    return arrivals(net, "b", "a")


def counters(net: Network, node: str, protocol: str) -> dict[str, int]:
    """The kernel's counters of a host."""
    lines = net.hosts[node].call(Path("/proc/thread-self/net/snmp").read_text).splitlines()
    names, values = [line.split()[1:] for line in lines if line.startswith(f"{protocol}:")]
    return dict(zip(names, map(int, values), strict=True))


def stream(net: Network, size: int = 300_000) -> dict[str, Any]:
    """Whether a stream arrives as it was sent, and how many of its segments were damaged."""
    server = net.hosts["b"].call(lambda: socket.create_server(("", PORT)))
    client = net.hosts["a"].call(lambda: socket.create_connection(("b", PORT), 5))
    channel, _ = server.accept()
    sent = os.urandom(size)
    threading.Thread(target=client.sendall, args=(sent,), daemon=True).start()
    got = b""
    while len(got) < size:
        got += channel.recv(size)
    return {"intact": got == sent, "damaged": counters(net, "b", "Tcp")["InCsumErrors"]}


def echo_of_a_switch(net: Network) -> dict[str, Any]:
    """The median time until a switch answers an echo request of a."""
    asking = net.hosts["a"].call(
        lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
    )
    asking.settimeout(1)
    times = []
    for _ in range(20):
        start = time.perf_counter()
        asking.sendto(ECHO, (SWITCH, 0))
        asking.recv(100)
        times.append((time.perf_counter() - start) * 1e3)
    return {"median_ms": statistics.median(times)}


def in_real_time(net: Network) -> dict[str, Any]:
    """Who runs in real time: the delay line, a program on a host, and how many threads of the
    process that built the network.
    """
    assert net.delay_line
    argv = [
        sys.executable,
        "-I",
        "-S",
        "-c",
        "import os; print(os.sched_getscheduler(0) == os.SCHED_FIFO)",
    ]
    output = (
        net.hosts["a"]
        .call(lambda: subprocess.run(argv, capture_output=True, text=True, check=True))
        .stdout
    )
    threads = [
        os.sched_getscheduler(int(thread)) == os.SCHED_FIFO
        for thread in os.listdir("/proc/self/task")
    ]
    line = os.sched_getscheduler(net.delay_line.pid) == os.SCHED_FIFO
    return {
        "delay line": line,
        "says": net.delay_line_runs,
        "program": output.strip() == "True",
        "threads": sum(threads),
    }


MEASURES: dict[str, Callable[[Network], dict[str, Any]]] = {
    function.__name__: function
    for function in (arrivals, arrivals_back, stream, echo_of_a_switch, in_real_time)
}
