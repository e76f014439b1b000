"""The ends of the links that links.py measures: programs that run on hosts, one function each.

    python -I -S _link_ends.py NAME [ARGUMENT...]

They print JSON and import only the standard library, because a host starts many of them.
"""

from __future__ import annotations

import ctypes
import json
import socket
import struct
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

PORT = 7777
MS = 1_000_000
SMALL_BATCH = 50
RECEIVE_BUFFER = 32 << 20
SEGMENTS_AT = 136
"""Offset of the counters of sent and received segments in struct tcp_info."""


def echo() -> None:
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind(("", PORT))
    say({})
    while True:
        asked, client = server.recvfrom(2048)
        server.sendto(asked, client)


def ping(address: str) -> None:
    """Make one round trip for each line of input, after a pause given in seconds."""
    client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    client.connect((address, PORT))
    client.settimeout(2)
    for rest_s in sys.stdin:
        time.sleep(float(rest_s))
        start = time.perf_counter_ns()
        client.send(b"?")
        client.recv(64)
        say({"ms": (time.perf_counter_ns() - start) / MS})


def pour(address: str, seconds: str, streams: str = "1", control: str = "") -> None:
    """Fill TCP streams for `seconds`, with a congestion control if one is given, and wait until all
    has arrived; print how many segments were sent.
    """
    import threading

    def fill(client: socket.socket) -> None:
        end, block = time.monotonic() + float(seconds), bytes(256 << 10)
        while time.monotonic() < end:
            client.sendall(block)
        client.shutdown(socket.SHUT_WR)
        client.recv(1)

    clients = [socket.create_connection((address, PORT), 10) for _ in range(int(streams))]
    for client in clients:
        client.settimeout(None)
        if control:
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control.encode())
    threads = [threading.Thread(target=fill, args=(client,)) for client in clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    say({"segments": sum(segments(client)[0] for client in clients)})


def drink(cut_s: str, until_s: str, streams: str = "1") -> None:
    """Print the throughput between two times after the first byte, and the received segments."""
    import threading

    def swallow(channel: socket.socket) -> None:
        room = bytearray(1 << 20)
        while got := channel.recv_into(room):
            now_s = time.monotonic() - start
            if float(cut_s) <= now_s < float(until_s):
                counted.append((now_s, got))
        came.append(segments(channel)[1])
        channel.close()

    server = socket.create_server(("", PORT), backlog=128)
    say({})
    counted: list[tuple[float, int]] = []
    came: list[int] = []
    channels = [server.accept()[0] for _ in range(int(streams))]
    start = time.monotonic()
    threads = [threading.Thread(target=swallow, args=(channel,)) for channel in channels]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    span_s = counted[-1][0] - counted[0][0] if len(counted) > 1 else 1.0
    say(
        {"mbit_per_s": sum(got for _, got in counted[1:]) * 8 / span_s / 1e6, "segments": sum(came)}
    )


def segments(channel: socket.socket) -> tuple[int, int]:
    return struct.unpack_from(
        "=II", channel.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256), SEGMENTS_AT
    )


def send_small(address: str, per_s: str, count: str, size: str) -> None:
    """Send numbered datagrams at a rate, in batches of one call each; print the actual rate."""
    client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    client.connect((address, PORT))
    batch = Batch(int(size))
    sent, start, pace_s = 0, time.perf_counter(), SMALL_BATCH / float(per_s)
    while sent < int(count):
        while time.perf_counter() < start + sent // SMALL_BATCH * pace_s:
            pass
        for place in range(SMALL_BATCH):
            batch.write(place, sent + place)
        sent += batch.call("sendmmsg", client.fileno())
    say({"sent": sent, "per_s": sent / (time.perf_counter() - start)})


def take_small(quiet_s: str, size: str) -> None:
    """Receive numbered datagrams until none has arrived for `quiet_s`; print how many arrived, how
    many after a later one, and how many the buffer dropped.
    """
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER)
    server.bind(("", PORT))
    server.settimeout(10)
    batch = Batch(int(size))
    say({})
    server.recv(64)
    got, reordered, latest, last = 1, 0, 0, time.monotonic()
    server.setblocking(False)
    while time.monotonic() - last < float(quiet_s):
        count = batch.call("recvmmsg", server.fileno(), None)
        for place in range(count):
            number = batch.read(place)
            reordered += number < latest
            latest = max(latest, number)
        if count > 0:
            got, last = got + count, time.monotonic()
        else:
            time.sleep(0.0002)
    names, values = [
        line.split()
        for line in Path("/proc/thread-self/net/snmp").read_text().splitlines()
        if line.startswith("Udp:")
    ]
    say(
        {
            "got": got,
            "reordered": reordered,
            "buffer_dropped": int(dict(zip(names, values, strict=True))["RcvbufErrors"]),
        }
    )


class Batch:
    """Datagrams that are sent or received with one system call."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._memory = ctypes.create_string_buffer(SMALL_BATCH * size)
        start = ctypes.addressof(self._memory)
        self._vectors = (ctypes.c_size_t * (2 * SMALL_BATCH))(
            *(w for place in range(SMALL_BATCH) for w in (start + place * size, size))
        )
        self._headers = (ctypes.c_size_t * (8 * SMALL_BATCH))()
        for place in range(SMALL_BATCH):
            self._headers[8 * place + 2 : 8 * place + 4] = [
                ctypes.addressof(self._vectors) + 16 * place,
                1,
            ]
        self._libc = ctypes.CDLL(None)

    def write(self, place: int, number: int) -> None:
        struct.pack_into("=Q", self._memory, place * self._size, number)

    def read(self, place: int) -> int:
        return int(struct.unpack_from("=Q", self._memory, place * self._size)[0])

    def call(self, name: str, descriptor: int, *more: Any) -> int:
        return int(getattr(self._libc, name)(descriptor, self._headers, SMALL_BATCH, 0, *more))


def say(answer: dict[str, Any]) -> None:
    print(json.dumps(answer), flush=True)


ENDS: dict[str, Callable[..., None]] = {
    one.__name__: one for one in (echo, ping, pour, drink, send_small, take_small)
}


if __name__ == "__main__":
    ENDS[sys.argv[1]](*sys.argv[2:])
