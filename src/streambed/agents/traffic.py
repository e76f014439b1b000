"""Traffic agent: sends packets or fills TCP connections, and counts what it receives.

The main thread sends datagrams, each when it is due; another thread receives and serves TCP.
"""

from __future__ import annotations

import contextlib
import heapq
import os
import random
import selectors
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial

from streambed.agents.agent import Agent, read_order
from streambed.record import now_ns
from streambed.record.gates import LoadBegins
from streambed.record.gauges import TrafficGauge
from streambed.record.orders import TrafficOrder

HEADERS_BYTES = 28
"""IP and UDP headers: a packet's size is what a link carries."""
LATE_NS_MAX = 100_000_000
"""A packet later than this is not sent: it would be part of an undeclared burst."""
WAIT_S_MAX = 0.05
CHUNK_BYTES = 1 << 16
BUFFER_BYTES = 4 << 20
RECONNECT_NS = 500_000_000
PER_TURN = 64
"""Packets read, or chunks sent, before the next socket is served."""


@dataclass
class Counts:
    """What was sent, what was due but could not be sent, what was received."""

    sent_bytes: int = 0
    sent_packets: int = 0
    missed_packets: int = 0
    received_bytes: int = 0
    received_packets: int = 0


def due_times(order: TrafficOrder, *, start_ns: int, end_ns: int, seed: str) -> Iterator[int]:
    """When each packet of a flow is due: at equal steps, random steps, or steps within bursts."""
    step_ns, draw = order.step_ns, random.Random(seed)
    cycle_ns = order.bursts_ns + order.pauses_ns
    elapsed_ns = draw.expovariate(1 / step_ns) if order.pattern == "poisson" else 0.0
    while start_ns + elapsed_ns < end_ns:
        yield start_ns + int(elapsed_ns)
        elapsed_ns += draw.expovariate(1 / step_ns) if order.pattern == "poisson" else step_ns
        if order.pattern == "on_off" and elapsed_ns % cycle_ns >= order.bursts_ns:
            elapsed_ns = (elapsed_ns // cycle_ns + 1) * cycle_ns


class Traffic:
    """What one host sends and receives."""

    def __init__(self, agent: Agent, order: TrafficOrder) -> None:
        self.agent = agent
        self.order = order
        self.counts = Counts()
        self.ready = False
        self._selector = selectors.DefaultSelector()
        self._room = memoryview(bytearray(CHUNK_BYTES))
        self._due_actions: list[tuple[int, Callable[[], None]]] = []
        """Actions and when they are due; one thread adds them, the other runs them."""

    def listen(self) -> None:
        """Open the UDP and TCP ports for other hosts."""
        packets = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        packets.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER_BYTES)
        packets.bind(("", self.order.port))
        server = socket.create_server(("", self.order.port))
        self._watch(packets, selectors.EVENT_READ, partial(self._take_packets, packets))
        self._watch(server, selectors.EVENT_READ, partial(self._accept, server))

    def _watch(self, channel: socket.socket, events: int, act: Callable[[], None]) -> None:
        channel.setblocking(False)
        self._selector.register(channel, events, act)

    def serve(self) -> None:
        """Serve sockets and due actions until stopped."""
        while not self.agent.stopping:
            for key, _ in self._selector.select(self._wait_s()):
                key.data()
            for entry in [entry for entry in self._due_actions if entry[0] <= now_ns()]:
                self._due_actions.remove(entry)
                entry[1]()
            if self.agent.report_is_due():
                self.report()

    def _wait_s(self) -> float:
        waits_s = [(due_ns - now_ns()) / 1e9 for due_ns, _ in self._due_actions]
        return max(0.0, min([WAIT_S_MAX, *waits_s]))

    def report(self, done: bool = False) -> None:
        """Write the gauge."""
        self.agent.report(TrafficGauge(ready=self.ready, done=done, **asdict(self.counts)))

    def _take_packets(self, packets: socket.socket) -> None:
        with contextlib.suppress(BlockingIOError):
            for _ in range(PER_TURN):
                self.counts.received_bytes += packets.recv_into(self._room) + HEADERS_BYTES
                self.counts.received_packets += 1

    def _accept(self, server: socket.socket) -> None:
        with contextlib.suppress(OSError):  # It may have been reset before it was accepted.
            channel, _ = server.accept()
            self._watch(channel, selectors.EVENT_READ, partial(self._receive_tcp, channel))

    def _receive_tcp(self, channel: socket.socket) -> None:
        try:
            taken = channel.recv_into(self._room)
        except OSError:
            taken = 0
        self.counts.received_bytes += taken
        if not taken:
            self._close(channel)

    def connect(self, address: str) -> None:
        """Start a TCP flow; one that breaks is restarted."""
        channel = socket.socket()
        channel.setblocking(False)
        channel.connect_ex((address, self.order.port))
        self._watch(channel, selectors.EVENT_WRITE, partial(self._send_tcp, channel, address))

    def _send_tcp(self, channel: socket.socket, address: str) -> None:
        try:
            for _ in range(PER_TURN):
                self.counts.sent_bytes += channel.send(self._room)
        except BlockingIOError:
            pass
        except OSError:
            self._close(channel)
            self._due_actions.append((now_ns() + RECONNECT_NS, partial(self.connect, address)))

    def _close(self, channel: socket.socket) -> None:
        self._selector.unregister(channel)
        channel.close()

    def _end_flows(self) -> None:
        """Close the TCP flows that were started here; others are still received."""
        self._due_actions.clear()
        keys = list(self._selector.get_map().values())
        for key in keys:
            if key.events == selectors.EVENT_WRITE:
                self._close(key.fileobj)  # type: ignore[arg-type]

    def send_packets(self, start_ns: int, end_ns: int) -> None:
        """Send each packet of every flow when it is due."""
        flows = [(_open_channel(), (address, self.order.port)) for address in self._flows()]
        dues = [self._due_times(number, start_ns, end_ns) for number in range(len(flows))]
        packet = bytes(self.order.size - HEADERS_BYTES)
        ahead = [(next(times, end_ns), number) for number, times in enumerate(dues)]
        heapq.heapify(ahead)
        while ahead and ahead[0][0] < end_ns and not self.agent.stopping:
            due, number = ahead[0]
            wait_ns = due - now_ns()
            if wait_ns > 0:
                time.sleep(min(wait_ns / 1e9, WAIT_S_MAX))
                continue
            self._send(*flows[number], packet, late_ns=-wait_ns)
            heapq.heapreplace(ahead, (next(dues[number], end_ns), number))

    def _due_times(self, flow: int, start_ns: int, end_ns: int) -> Iterator[int]:
        seed = f"{os.environ['STREAMBED_SEED']} {self.agent.name} {flow}"
        return due_times(self.order, start_ns=start_ns, end_ns=end_ns, seed=seed)

    def _send(
        self, channel: socket.socket, address: tuple[str, int], packet: bytes, late_ns: int
    ) -> None:
        try:
            if late_ns <= LATE_NS_MAX:
                channel.sendto(packet, address)
                self.counts.sent_packets += 1
                self.counts.sent_bytes += self.order.size
                return
        except OSError:
            # The host had no buffer or no route: the link was slower than the load, or cut.
            pass
        self.counts.missed_packets += 1

    def _flows(self) -> list[str]:
        return [address for address in self.order.to for _ in range(self.order.flows)]

    def flow(self, start_ns: int, end_ns: int) -> None:
        """Send from start to end; with TCP this returns at once."""
        if self.order.pattern != "tcp":
            return self.send_packets(start_ns, end_ns)
        self._due_actions += [
            (start_ns, partial(self.connect, address)) for address in self._flows()
        ]
        self._due_actions.append((end_ns, self._end_flows))
        return None


def _open_channel() -> socket.socket:
    channel = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    channel.setblocking(False)
    channel.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, BUFFER_BYTES)
    return channel


def main(order: TrafficOrder) -> None:
    """Listen until stopped; send while the load lasts."""
    agent = Agent()
    traffic = Traffic(agent, order)
    traffic.listen()
    serving = threading.Thread(target=traffic.serve)
    serving.start()
    traffic.ready = True
    load = agent.wait_for(LoadBegins)
    start_ns = (load.start_ns if load else 0) + order.after_ns
    if order.to and not agent.stopping:
        traffic.flow(start_ns, start_ns + order.lasts_ns)
    serving.join()
    traffic.report(done=True)


if __name__ == "__main__":
    main(read_order(TrafficOrder))
