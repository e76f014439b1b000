"""The loop of the delay line: wait until a packet comes or is due, take it, release it when due.

    arrival ─▶ wake ─▶ take, with the kernel's timestamp ─▶ sleep ─▶ early wake ─▶ spin ─▶ release

The kernel timestamps a packet that enters another namespace, so it is released in time even if we
look late. It does not timestamp what a switch forwards: that is taken to be as old as one wake-up.
Wake-ups and verdicts take time, so both start early by an estimate: see wakeup_estimate. A verdict
is measured in our CPU time, because the receiver of the packet may run before we do.
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

from streambed.agents.delay_line.channel import IS_PACKET, IS_STAMPED, Channel, Slots, libc
from streambed.agents.delay_line.queue import NEVER_NS, Queue
from streambed.agents.delay_line.wakeup_estimate import LatencyEstimate

STDIN, STDOUT = 0, 1
FIRST_WAKE_NS, FIRST_RELEASE_NS = 50_000, 30_000
PASS_NS = 10_000
"""Time besides the wake-up until a packet is looked at."""
SHORTEST_SLEEP_NS = 20_000
"""A shorter wait does not count as sleep."""
GATHER_NS, SHARE_OF_DELAY = 400_000, 4
"""In real time and under load, packets gather this long, or for this part of the least delay: a
wake-up for each would keep its sender from working.
"""
SEVERAL = 8
"""This many looks in a row with packets count as load."""
WAITERS_WAKE, WAITERS_WAKE_IN_REAL_TIME = 1 / 3, 1.0
"""Time to wake the receiver, as a share of our wake-up time. In real time it gets our CPU only
when we sleep.
"""
TOGETHER_NS = 30_000
"""Packets that came within this time are released together."""
FEW = 2
"""Releasing more packets takes longer and proves nothing about one."""


class Engine:
    """Serves all queues."""

    def __init__(self, channels: list[Channel], queues: list[Queue], *, in_real_time: bool) -> None:
        self._channels = {channel.fileno(): channel for channel in channels}
        self._queues = {queue.number: queue for queue in queues}
        self._slots = Slots()
        self._in_real_time = in_real_time
        self._waiter = WAITERS_WAKE_IN_REAL_TIME if in_real_time else WAITERS_WAKE
        # A heap of (when, queue): the head of every queue that holds packets.
        self._due: list[tuple[int, int]] = []
        self._orders = b""
        self._wakes, self._alarms = (
            LatencyEstimate(FIRST_WAKE_NS),
            LatencyEstimate(FIRST_WAKE_NS, cautious=True),
        )
        self._releases = LatencyEstimate(FIRST_RELEASE_NS)
        self._rest_ns = 0  # How long we slept before now.
        self._wake_ns = 0  # Estimated duration of the last wake-up.
        self._woken_ns = 0  # When a timer was to wake us, if it just did.
        self._read_ns = 0
        self._looks = 0  # Looks in a row with packets, without a sleep.
        self._gather_ns = self._gathering_ns()
        self._poll = select.epoll()
        for descriptor in (STDIN, *self._channels):
            self._poll.register(descriptor, select.EPOLLIN)
        self._asked = ctypes.create_string_buffer(
            struct.pack("=ihh", self._poll.fileno(), select.POLLIN, 0)
        )

    def run(self) -> None:
        """Serve until the input closes."""
        while True:
            self._release()
            if self._wait() and not self._serve():
                return

    def _release(self) -> None:
        """Release the packets that will be due when the verdict has taken effect."""
        due, queues = self._due, self._queues
        now_ns, worked_ns = time.monotonic_ns(), time.thread_time_ns()
        if self._woken_ns:
            self._wakes.learn(self._rest_ns, now_ns - self._woken_ns)
            self._alarms.learn(self._rest_ns, now_ns - self._woken_ns)
            self._woken_ns = 0
        soon_ns, released = now_ns + self._early_ns(self._rest_ns), 0
        while due and due[0][0] <= soon_ns:
            when_ns, number = heapq.heappop(due)
            queue = queues[number]
            # Otherwise an earlier packet replaced this entry.
            if queue.next_ns == when_ns:
                released += queue.release(soon_ns)
                self._expect(queue, queue.head_ns)
        if released:
            if released <= FEW:
                self._releases.learn(self._rest_ns, time.thread_time_ns() - worked_ns)
            self._rest_ns = 0

    def _early_ns(self, rest_ns: int) -> int:
        """How early to release a packet: the verdict and waking the receiver take time."""
        return self._releases.usual_ns(rest_ns) + int(self._waiter * self._wakes.usual_ns(rest_ns))

    def _gathering_ns(self) -> int:
        """How long packets may gather and still be on time."""
        least_ns = min(
            (queue.delay_ns for queue in self._queues.values() if queue.delay_ns), default=0
        )
        return min(GATHER_NS, least_ns // SHARE_OF_DELAY) if self._in_real_time else 0

    def _expect(self, queue: Queue, due_ns: int) -> None:
        queue.next_ns = due_ns
        if due_ns != NEVER_NS:
            heapq.heappush(self._due, (due_ns, queue.number))

    def _wait(self) -> bool:
        """Sleep until a packet comes or one is nearly due. True: something may have come."""
        begun_ns = time.monotonic_ns()
        limit, left_ns = None, 0
        if self._due:
            left_ns = self._due[0][0] - begun_ns
            rest_ns = max(0, left_ns)
            left_ns -= self._alarms.usual_ns(rest_ns) + self._early_ns(rest_ns)
            if left_ns <= 0:
                self._wake_ns = 0
                return True
            limit = (ctypes.c_long * 2)(*divmod(left_ns, 1_000_000_000))
        if (
            self._gather_ns
            and self._looks > SEVERAL
            and (limit is None or left_ns > 2 * self._gather_ns)
        ):
            libc.ppoll(None, 0, (ctypes.c_long * 2)(0, self._gather_ns), None)
            self._rest_ns, self._wake_ns = 0, self._gather_ns // 2
            return True
        came = libc.ppoll(self._asked, 1, limit, None)
        slept_ns = time.monotonic_ns() - begun_ns
        self._rest_ns = slept_ns if slept_ns > SHORTEST_SLEEP_NS else 0
        self._wake_ns = self._wakes.usual_ns(slept_ns) if self._rest_ns else 0
        if self._rest_ns:
            self._looks = 0
        if not came:
            self._woken_ns = begun_ns + left_ns
        return bool(came)

    def _serve(self) -> bool:
        """Take packets and commands; False at the end of the input."""
        came = self._poll.poll(0)
        self._looks = self._looks + 1 if came else 0
        for descriptor, _ in came:
            if descriptor != STDIN:
                self._receive(descriptor)
            elif not self._obey(os.read(STDIN, 65536)):
                return False
        return True

    def _receive(self, descriptor: int) -> None:
        """Take packets. One without a timestamp came after the last look, about a wake-up ago."""
        now_ns = time.monotonic_ns()
        arrived_ns = self._read_ns = max(self._read_ns, now_ns - PASS_NS - self._wake_ns)
        behind_ns, since_ns = time.time_ns() - now_ns, 0
        queues, slots = self._queues, self._slots
        count = slots.fill(descriptor)
        for slot, (kind, number, packet, stamp, seconds, microseconds) in enumerate(
            slots.packets(count)
        ):
            if kind != IS_PACKET:
                continue  # A verdict failed: an interface is gone, and its packets with it.
            if stamp == IS_STAMPED:
                came_ns = seconds * 1_000_000_000 + microseconds * 1000 - behind_ns
                if came_ns > since_ns + TOGETHER_NS:
                    arrived_ns = since_ns = came_ns
            queue = queues[number]
            due_ns = queue.take(packet, arrived_ns, partial(slots.content, slot))
            if due_ns < queue.next_ns:
                self._expect(queue, due_ns)

    def _obey(self, read: bytes) -> bool:
        """Carry out every whole line; False at the end of the input."""
        *lines, self._orders = (self._orders + read).split(b"\n")
        for order in map(json.loads, lines):
            queue = self._queues[order["number"]]
            queue.change(order, time.monotonic_ns())
            if queue.head_ns < queue.next_ns:  # What was held is due now.
                self._expect(queue, queue.head_ns)
            self._gather_ns = self._gathering_ns()
            os.write(STDOUT, b"done\n")
        return bool(read)
