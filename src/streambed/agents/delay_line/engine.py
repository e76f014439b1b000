"""The loop of the delay line: sleep until a packet comes or is due, take the ones that came, let go the ones that are due.

    a packet comes ──wake──▶ take, dated back by the wake ── wait ── woken early by the wake ──▶ spin until due ──▶ let go

To be woken takes tens of microseconds, which differ from machine to machine. The engine learns how many from its own timers.
"""

from __future__ import annotations

import ctypes
import heapq
import json
import os
import select
import struct
import time
from functools import partial

from streambed.agents.delay_line.channel import IS_PACKET, Channel, Slots, libc
from streambed.agents.delay_line.queue import NEVER_NS, Queue
from streambed.agents.delay_line.wakes import Wakes

STDIN, STDOUT = 0, 1
READ_NS = 20_000
"""What a pass costs beside wakes and the declared delay: the way into the queue, and out of it."""
SHORTEST_SLEEP_NS = 20_000
"""A wait that was shorter was none."""


class Engine:
    """Serves all queues."""

    def __init__(self, channels: list[Channel], queues: list[Queue]) -> None:
        self._channels = {channel.fileno(): channel for channel in channels}
        self._queues = {queue.number: queue for queue in queues}
        self._slots = Slots()
        self._due: list[tuple[int, int]] = []  # A heap of (when, queue): the head of every queue that holds packets.
        self._orders = b""
        self._wakes = Wakes()
        self._read_ns = 0
        self._poll = select.epoll()
        for descriptor in (STDIN, *self._channels):
            self._poll.register(descriptor, select.EPOLLIN)
        self._asked = ctypes.create_string_buffer(struct.pack("=ihh", self._poll.fileno(), select.POLLIN, 0))

    def run(self) -> None:
        """Until the input closes."""
        while True:
            self._release()
            slept_ns = self._wait()
            for descriptor, _ in self._poll.poll(0):
                if descriptor != STDIN:
                    self._receive(descriptor, slept_ns)
                elif not self._obey(os.read(STDIN, 65536)):
                    return

    def _release(self) -> None:
        due, queues = self._due, self._queues
        now_ns = time.monotonic_ns()
        while due and due[0][0] <= now_ns:
            when_ns, number = heapq.heappop(due)
            queue = queues[number]
            if queue.next_ns == when_ns:  # Else an earlier packet came after this entry was made: it has been dealt with.
                self._expect(queue, queue.release(now_ns))

    def _expect(self, queue: Queue, due_ns: int) -> None:
        queue.next_ns = due_ns
        if due_ns != NEVER_NS:
            heapq.heappush(self._due, (due_ns, queue.number))

    def _wait(self) -> int:
        """Sleep until a packet comes or the next one is nearly due; how long that was, zero if it was no sleep."""
        begun_ns = time.monotonic_ns()
        limit, left_ns = None, 0
        if self._due:
            left_ns = self._due[0][0] - begun_ns
            left_ns -= self._wakes.usual_ns(max(0, left_ns))
            if left_ns <= 0:
                return 0
            limit = (ctypes.c_long * 2)(*divmod(left_ns, 1_000_000_000))
        came = libc.ppoll(self._asked, 1, limit, None)
        slept_ns = time.monotonic_ns() - begun_ns
        if not came:
            self._wakes.learn(slept_ns, slept_ns - left_ns)
        return slept_ns if slept_ns > SHORTEST_SLEEP_NS else 0

    def _receive(self, descriptor: int, slept_ns: int) -> None:
        """Take what came. It came after the last look, and after a sleep about as long ago as a wake takes."""
        wake_ns = self._wakes.usual_ns(slept_ns) if slept_ns else 0
        arrived_ns = max(self._read_ns, time.monotonic_ns() - READ_NS - wake_ns)
        queues, slots = self._queues, self._slots
        count = slots.fill(descriptor)
        for slot, (kind, number, packet) in enumerate(slots.packets(count)):
            if kind != IS_PACKET:
                continue  # An error about a verdict: an interface went, and its packets with it.
            queue = queues[number]
            due_ns = queue.take(packet, arrived_ns, partial(slots.content, slot))
            if due_ns < queue.next_ns:
                self._expect(queue, due_ns)
        self._read_ns = arrived_ns

    def _obey(self, read: bytes) -> bool:
        """Carry out every whole line; False at the end of the input."""
        *lines, self._orders = (self._orders + read).split(b"\n")
        for order in map(json.loads, lines):
            self._queues[order["number"]].change(order)
            os.write(STDOUT, b"done\n")
        return bool(read)
