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

STDIN, STDOUT = 0, 1
FIRST_WAKE_NS, LONGEST_WAKE_NS, LEARN_SHARE = 50_000, 200_000, 16
READ_NS = 20_000
"""What a pass costs beside wakes and the declared delay: the way into the queue, and out of it."""
SLEPT_NS = 20_000
"""A wait that was longer than this was a sleep."""


class Engine:
    """Serves all queues."""

    def __init__(self, channels: list[Channel], queues: list[Queue]) -> None:
        self._channels = {channel.fileno(): channel for channel in channels}
        self._queues = {queue.number: queue for queue in queues}
        self._slots = Slots()
        self._due: list[tuple[int, int]] = []  # A heap of (when, queue): the head of every queue that holds packets.
        self._orders = b""
        self._wake_ns = FIRST_WAKE_NS
        self._read_ns = 0
        self._poll = select.epoll()
        for descriptor in (STDIN, *self._channels):
            self._poll.register(descriptor, select.EPOLLIN)
        self._asked = ctypes.create_string_buffer(struct.pack("=ihh", self._poll.fileno(), select.POLLIN, 0))

    def run(self) -> None:
        """Until the input closes."""
        while True:
            self._release()
            slept = self._wait()
            for descriptor, _ in self._poll.poll(0):
                if descriptor != STDIN:
                    self._receive(descriptor, slept)
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

    def _wait(self) -> bool:
        """Sleep until a packet comes or the next one is nearly due; whether it was a sleep. Timers teach how long a wake takes."""
        begun_ns = time.monotonic_ns()
        if not self._due:
            libc.ppoll(self._asked, 1, None, None)
            return time.monotonic_ns() - begun_ns > SLEPT_NS
        left_ns = self._due[0][0] - self._wake_ns - begun_ns
        if left_ns <= 0:
            return False
        limit = (ctypes.c_long * 2)(*divmod(left_ns, 1_000_000_000))
        timed_out = not libc.ppoll(self._asked, 1, limit, None)
        waited_ns = time.monotonic_ns() - begun_ns
        if timed_out:
            late_ns = min(LONGEST_WAKE_NS, waited_ns - left_ns)
            self._wake_ns += (late_ns - self._wake_ns) // LEARN_SHARE
        return waited_ns > SLEPT_NS

    def _receive(self, descriptor: int, slept: bool) -> None:
        """Take what came. It came after the last look, and after a sleep about as long ago as a wake takes."""
        now_ns = time.monotonic_ns()
        arrived_ns = max(self._read_ns, now_ns - READ_NS - (self._wake_ns if slept else 0))
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
