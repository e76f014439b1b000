"""The delay line: one process that holds packets back, loses some, and lets the others go when they are due.

    python -m streambed.agents.delay_line queues.json

Packets stay in the kernel (NFQUEUE); only their ids come up, and verdicts go down. It needs the standard library alone. Its file
says {"gauge": path, "seed": number, "queues": [{"number", "namespace" (an inherited descriptor), "delay_ns", "jitter_ns", "loss"}, …]}.
It writes "ready" once, takes lines such as {"number": 3, "delay_ns": 0, "jitter_ns": 0, "loss": 1}, writes "done" when that holds, and
ends with its input. Each second the gauge gets {"written_ns", "packets", "dropped"} so far, {"late_mean_ns", "late_max_ns"} of that second.
"""

from __future__ import annotations

import ctypes
import gc
import heapq
import json
import os
import random
import select
import socket
import struct
import sys
import threading
import time
from typing import Any

OVERHEAD_NS = 85_000
"""What a pass costs beside the delay: about 50 us until the packet is read, 35 us until the timer wakes us. Taken off each delay."""
QUEUE_LIMIT_PACKETS = 100_000
"""A queue that is full drops, as a link does."""
SLICE_NS = 100_000
REALTIME_PRIORITY, PACKETS_PER_TURN, GAUGE_EVERY_S, NEVER_NS = 10, 64, 1.0, 1 << 62
STDIN, STDOUT = 0, 1

CLONE_NEWNET = 0x40000000
PR_SET_TIMERSLACK = 29
CLOCK_MONOTONIC, TFD_NONBLOCK, TFD_CLOEXEC, TFD_TIMER_ABSTIME = 1, 0o4000, 0o2000000, 1
SCHED_SETATTR = {"x86_64": 314, "aarch64": 274}
NETLINK_NETFILTER, SOL_NETLINK, NETLINK_NO_ENOBUFS, SO_RCVBUFFORCE, RECEIVE_BUFFER_BYTES = 12, 270, 5, 33, 64 << 20
REQUEST, ACKNOWLEDGE, PACKET, VERDICT, CONFIGURE, VERDICT_UP_TO = 1, 4, 0x300, 0x301, 0x302, 0x303
DROP, ACCEPT, BIND, COPY_PACKET, COPY_BYTES, GSO_FLAG = 0, 1, 1, 2, 20, 4

_libc = ctypes.CDLL(None, use_errno=True)
_message_kind = struct.Struct("=4xH").unpack_from
_queue_and_packet = struct.Struct("!18xH4xI").unpack_from
_packet_id = struct.Struct("!I").pack


def attribute(kind: int, content: bytes) -> bytes:
    """A value with its kind and length, padded to four bytes."""
    length = 4 + len(content)
    return struct.pack("=HH", length, kind) + content + bytes(-length % 4)


def message(kind: int, flags: int, number: int, *attributes: bytes) -> bytes:
    """A netlink message about one queue."""
    body = struct.pack("!BBH", 0, 0, number) + b"".join(attributes)
    return struct.pack("=IHHII", 16 + len(body), kind, REQUEST | flags, 0, 0) + body


def verdict(kind: int, number: int, judgement: int) -> bytes:
    """A verdict but for its last four bytes, the id of the packet."""
    return message(kind, 0, number, attribute(2, struct.pack("!II", judgement, 0)))[:-4]


class Queue:
    """One direction of a link: the packets on their way, and when each is due."""

    def __init__(self, channel: socket.socket, declared: dict[str, Any], seed: int) -> None:
        self.number: int = declared["number"]
        self.delay_ns, self.jitter_ns, self.loss = declared["delay_ns"], declared["jitter_ns"], declared["loss"]
        self.next_ns = NEVER_NS
        self._in_order = not self.jitter_ns
        self._draw, self._send = random.Random(f"{seed} {self.number}").random, channel.send
        self._waiting: list[tuple[int, int]] = []
        self._accept = verdict(VERDICT, self.number, ACCEPT)
        self._accept_up_to = verdict(VERDICT_UP_TO, self.number, ACCEPT)
        self._drop = verdict(VERDICT, self.number, DROP)

    def change(self, wanted: dict[str, Any]) -> None:
        """Treat packets so from now on; those that wait keep their time, so that one yet to come may overtake them."""
        self.delay_ns, self.jitter_ns, self.loss = wanted["delay_ns"], wanted["jitter_ns"], wanted["loss"]
        self._in_order = False
        self._send(message(CONFIGURE, 0, self.number, *bundling(self.loss)))

    def take(self, packet: int, arrived_ns: int) -> int:
        """Judge a packet that has come: when it is due, or NEVER_NS if it is dropped."""
        if self.loss and self._draw() < self.loss:
            self._send(self._drop + _packet_id(packet))
            return NEVER_NS
        delay_ns = self.delay_ns - OVERHEAD_NS
        if self.jitter_ns:
            delay_ns += int((2 * self._draw() - 1) * self.jitter_ns)
        due_ns: int = arrived_ns + max(0, delay_ns)
        heapq.heappush(self._waiting, (due_ns, packet))
        return due_ns

    def release(self, now_ns: int, lateness: Lateness) -> int:
        """Let go whatever is due; when the next one will be. Ids grow: if none overtakes, one verdict holds for all up to the last."""
        waiting, gone = self._waiting, []
        while waiting and waiting[0][0] <= now_ns:
            due_ns, packet = heapq.heappop(waiting)
            lateness.add(now_ns - due_ns)
            gone.append(packet)
        if gone and self._in_order:
            self._send(self._accept_up_to + _packet_id(gone[-1]))
        elif gone:
            self._send(b"".join(self._accept + _packet_id(packet) for packet in gone))
        if not waiting:
            self._in_order = not self.jitter_ns
        return waiting[0][0] if waiting else NEVER_NS


class Lateness:
    """How late packets were let go, since the last time that somebody looked."""

    def __init__(self) -> None:
        self.packets = 0
        self.dropped = 0
        self._count = self._sum_ns = self._max_ns = 0

    def add(self, late_ns: int) -> None:
        """One packet was let go."""
        self.packets += 1
        self._count += 1
        self._sum_ns += late_ns
        if late_ns > self._max_ns:
            self._max_ns = late_ns

    def read(self) -> dict[str, int]:
        """The gauge; lateness begins anew."""
        count, sum_ns, max_ns = self._count, self._sum_ns, self._max_ns
        self._count = self._sum_ns = self._max_ns = 0
        mean_ns = sum_ns // count if count else 0
        return {"packets": self.packets, "dropped": self.dropped, "late_mean_ns": mean_ns, "late_max_ns": max_ns}


class Engine:
    """The loop: sleep until a packet comes or is due, take the ones that came, let go the ones that are due."""

    def __init__(self, channels: list[socket.socket], queues: list[Queue], lateness: Lateness) -> None:
        self._channels = {channel.fileno(): channel for channel in channels}
        self._queues = {queue.number: queue for queue in queues}
        self._lateness = lateness
        self._due: list[tuple[int, int]] = []  # A heap of (when, queue): the head of every queue that holds packets.
        self._orders = b""
        self._timer = _libc.timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC)
        self._timer_ns = 0
        self._buffer = bytearray(2048)
        self._poll = select.epoll()
        for descriptor in (STDIN, self._timer, *self._channels):
            self._poll.register(descriptor, select.EPOLLIN)

    def run(self) -> None:
        """Until the input closes."""
        while True:
            self._release()
            for descriptor, _ in self._poll.poll(self._patience()):
                if descriptor == self._timer:
                    os.read(self._timer, 8)
                    self._timer_ns = 0
                elif descriptor != STDIN:
                    self._receive(self._channels[descriptor])
                elif not self._obey(os.read(STDIN, 65536)):
                    return

    def _release(self) -> None:
        due, queues = self._due, self._queues
        now_ns = time.monotonic_ns()
        while due and due[0][0] <= now_ns:
            when_ns, number = heapq.heappop(due)
            queue = queues[number]
            if queue.next_ns == when_ns:  # Else an earlier packet came after this entry was made: it has been dealt with.
                self._expect(queue, queue.release(now_ns, self._lateness))

    def _expect(self, queue: Queue, due_ns: int) -> None:
        queue.next_ns = due_ns
        if due_ns != NEVER_NS:
            heapq.heappush(self._due, (due_ns, queue.number))

    def _patience(self) -> float:
        """How long poll may wait: not at all if a packet is due, else until something comes; the timer is finer than its own limit."""
        if not self._due:
            return -1
        when_ns = self._due[0][0]
        if when_ns <= time.monotonic_ns():
            return 0
        if when_ns != self._timer_ns:
            setting = (ctypes.c_long * 4)(0, 0, *divmod(when_ns, 1_000_000_000))
            _libc.timerfd_settime(self._timer, TFD_TIMER_ABSTIME, setting, None)
            self._timer_ns = when_ns
        return -1

    def _receive(self, channel: socket.socket) -> None:
        buffer, queues, receive = self._buffer, self._queues, channel.recv_into
        arrived_ns = time.monotonic_ns()
        for _ in range(PACKETS_PER_TURN):
            try:
                receive(buffer)
            except BlockingIOError:
                return
            if _message_kind(buffer)[0] != PACKET:
                continue  # An error about a verdict: an interface went, and its packets with it.
            number, packet = _queue_and_packet(buffer)
            queue = queues[number]
            due_ns = queue.take(packet, arrived_ns)
            if due_ns == NEVER_NS:
                self._lateness.dropped += 1
            elif due_ns < queue.next_ns:
                self._expect(queue, due_ns)

    def _obey(self, read: bytes) -> bool:
        """Carry out every whole line; False at the end of the input."""
        *lines, self._orders = (self._orders + read).split(b"\n")
        for order in map(json.loads, lines):
            self._queues[order["number"]].change(order)
            os.write(STDOUT, b"done\n")
        return bool(read)


def open_channel(namespace: int) -> socket.socket:
    """A netlink socket inside a network namespace; it stays there when this process moves on to the next."""
    if _libc.setns(namespace, CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "the delay line may not enter a network namespace")
    os.close(namespace)
    channel = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_NETFILTER)
    channel.bind((0, 0))
    channel.setsockopt(SOL_NETLINK, NETLINK_NO_ENOBUFS, 1)
    try:
        channel.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, RECEIVE_BUFFER_BYTES)
    except PermissionError:
        channel.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER_BYTES)
    return channel


def bundling(loss: float) -> tuple[bytes, bytes]:
    """Segments of one send come as one packet: fast, but they would be lost together. So not where some are lost."""
    return attribute(4, struct.pack("!I", GSO_FLAG)), attribute(5, struct.pack("!I", GSO_FLAG if loss in (0, 1) else 0))


def bind(channel: socket.socket, number: int, loss: float) -> None:
    """Take over a queue."""
    copies, limit = attribute(2, struct.pack("!IB", COPY_BYTES, COPY_PACKET)), attribute(3, struct.pack("!I", QUEUE_LIMIT_PACKETS))
    for attributes in ((attribute(1, struct.pack("!BBH", BIND, 0, 2)),), (copies, limit, *bundling(loss))):
        channel.send(message(CONFIGURE, ACKNOWLEDGE, number, *attributes))
        number_of_error = -struct.unpack_from("=i", channel.recv(4096), 16)[0]
        if number_of_error:
            raise OSError(number_of_error, f"queue {number}: {os.strerror(number_of_error)}")


def open_queues(declared: dict[str, Any]) -> tuple[list[socket.socket], list[Queue]]:
    """One socket for each namespace, and all queues bound."""
    channels: dict[int, socket.socket] = {}
    queues = []
    for one in declared["queues"]:
        if one["namespace"] not in channels:
            channels[one["namespace"]] = open_channel(one["namespace"])
        channel = channels[one["namespace"]]
        bind(channel, one["number"], one["loss"])
        queues.append(Queue(channel, one, declared["seed"]))
    for channel in channels.values():
        channel.setblocking(False)
    return list(channels.values()), queues


def be_punctual() -> None:
    """Ask the scheduler to wake us at once: in real time if that is allowed, else by short slices; exact timers; no pauses."""
    _libc.prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0)
    gc.disable()
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(REALTIME_PRIORITY))
    except PermissionError:  # Also root's lot, inside a user namespace.
        wish = ctypes.create_string_buffer(struct.pack("=IIQiIQQQ", 48, 0, 0, 0, 0, SLICE_NS, 0, 0))
        _libc.syscall(SCHED_SETATTR.get(os.uname().machine, -1), 0, wish, 0)


def keep_gauge(path: str, lateness: Lateness) -> None:
    """Write the gauge for ever; in a thread of its own, because a disk may take its time."""
    while True:
        time.sleep(GAUGE_EVERY_S)
        with open(f"{path}.part", "w") as file:
            json.dump({"written_ns": time.monotonic_ns(), **lateness.read()}, file)
        os.replace(f"{path}.part", path)


def main(path: str) -> None:
    """Serve the queues that the file declares."""
    with open(path) as file:
        declared = json.load(file)
    lateness = Lateness()
    channels, queues = open_queues(declared)
    be_punctual()  # Before the thread, which inherits it: a slow one would make us wait for Python's lock.
    threading.Thread(target=keep_gauge, args=(declared["gauge"], lateness), daemon=True).start()
    engine = Engine(channels, queues, lateness)
    os.write(STDOUT, b"ready\n")
    engine.run()


if __name__ == "__main__":
    main(sys.argv[1])
