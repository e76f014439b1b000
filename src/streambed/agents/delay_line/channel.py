"""How the delay line talks to the kernel: a netlink socket in each network namespace, on which
packets come and verdicts go.
"""

from __future__ import annotations

import ctypes
import os
import socket
import struct
from collections.abc import Iterable

CLONE_NEWNET = 0x40000000
(
    NETLINK_NETFILTER,
    SOL_NETLINK,
    NETLINK_NO_ENOBUFS,
    SO_TIMESTAMP,
    SO_RCVBUFFORCE,
    RECEIVE_BUFFER_BYTES,
) = 12, 270, 5, 29, 33, 64 << 20
REQUEST, ACKNOWLEDGE, PACKET, VERDICT, CONFIGURE, VERDICT_UP_TO = 1, 4, 0x300, 0x301, 0x302, 0x303
DROP, ACCEPT, BIND, COPY_PACKET, GSO_FLAG = 0, 1, 1, 2, 4
VERDICT_HEADER, HARDWARE_ADDRESS, PAYLOAD = 2, 9, 10
QUEUE_LIMIT_PACKETS = 100_000
"""A queue that is full drops, as a link does."""
HEAD_BYTES, WHOLE_BYTES = 20, 1536
"""How much of a packet comes up: hardly anything, or all that an interface sends at once."""

SLOTS = 64
"""How many packets are taken by one call."""
SLOT_BYTES = 27 * 64
"""Whole cache lines, but no power of two: those would all fall into the same few sets of the cache.
"""
SENT_AT_ONCE_BYTES = 64 << 10

libc = ctypes.CDLL(None, use_errno=True)
IS_PACKET: int = struct.unpack("!H", struct.pack("=H", PACKET))[0]
"""The kind of a message that brings a packet, as the head of a slot shows it."""
IS_STAMPED: int = struct.unpack("!I", struct.pack("=HH", 20, 4))[0]
"""What precedes the time at which a packet came, where a packet that came from another namespace
has it.
"""
Head = tuple[int, int, int, int, int, int]
"""The kind of a message; the queue's number, the packet's id; IS_STAMPED if a time follows, in
seconds and microseconds.
"""
_heads = struct.Struct(f"!4xH12xH4xI28xIQQ{SLOT_BYTES - 76}x").iter_unpack
_id = struct.Struct("!I").pack


def attribute(kind: int, content: bytes) -> bytes:
    """A value with its kind and length, padded to four bytes."""
    length = 4 + len(content)
    return struct.pack("=HH", length, kind) + content + bytes(-length % 4)


def message(kind: int, flags: int, number: int, *attributes: bytes) -> bytes:
    """A netlink message about one queue."""
    body = struct.pack("!BBH", 0, 0, number) + b"".join(attributes)
    return struct.pack("=IHHII", 16 + len(body), kind, REQUEST | flags, 0, 0) + body


class Verdicts:
    """The messages that judge the packets of one queue."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._accept, self._accept_up_to, self._drop = (
            message(kind, 0, number, attribute(VERDICT_HEADER, struct.pack("!II", judgement, 0)))[
                :-4
            ]
            for kind, judgement in ((VERDICT, ACCEPT), (VERDICT_UP_TO, ACCEPT), (VERDICT, DROP))
        )

    def accept(self, packet: int, mangled: bytes = b"") -> bytes:
        """Let one packet go, with another content if one is given."""
        if mangled:
            judgement = attribute(VERDICT_HEADER, struct.pack("!II", ACCEPT, packet))
            return message(VERDICT, 0, self._number, judgement, attribute(PAYLOAD, mangled))
        return self._accept + _id(packet)

    def accept_up_to(self, packet: int) -> bytes:
        """Let it go, and all that came before it."""
        return self._accept_up_to + _id(packet)

    def drop(self, packet: int) -> bytes:
        """Lose it."""
        return self._drop + _id(packet)


def treatment(whole: bool, single: bool) -> tuple[bytes, ...]:
    """How packets come up: with all their content or not; segments of one send one by one, their
    checksums filled in, or as one.
    """
    copies = attribute(2, struct.pack("!IB", WHOLE_BYTES if whole else HEAD_BYTES, COPY_PACKET))
    return (
        copies,
        attribute(4, struct.pack("!I", GSO_FLAG)),
        attribute(5, struct.pack("!I", 0 if single else GSO_FLAG)),
    )


class Slots:
    """The memory that packets come into, shared by all channels: recvmmsg takes many at one
    call.
    """

    def __init__(self) -> None:
        self._memory = ctypes.create_string_buffer(SLOTS * SLOT_BYTES)
        start = ctypes.addressof(self._memory)
        self._vectors = (ctypes.c_size_t * (2 * SLOTS))(
            *(word for slot in range(SLOTS) for word in (start + slot * SLOT_BYTES, SLOT_BYTES))
        )
        vectors = ctypes.addressof(self._vectors)
        self._headers = (ctypes.c_size_t * (8 * SLOTS))()
        for slot in range(SLOTS):
            self._headers[8 * slot + 2 : 8 * slot + 4] = [vectors + 16 * slot, 1]
        self._view = memoryview(self._memory)
        self._receive = libc.recvmmsg

    def fill(self, descriptor: int) -> int:
        """Take what waits, as much as there is room for; how many messages came."""
        came: int = self._receive(descriptor, self._headers, SLOTS, socket.MSG_DONTWAIT, None)
        return max(0, came)

    def packets(self, count: int) -> Iterable[Head]:
        """The heads of the first so many messages, of which some may be no packets but tell of an
        error.
        """
        return _heads(self._view[: count * SLOT_BYTES])

    def content(self, slot: int) -> tuple[bytes, bytes]:
        """The hardware address that sent a packet, if known, and as much of the packet as was asked
        for.
        """
        message = self._view[slot * SLOT_BYTES : (slot + 1) * SLOT_BYTES]
        length, place = struct.unpack_from("=I", message)[0], 20
        sender = payload = b""
        while place + 4 <= length:
            size, kind = struct.unpack_from("=HH", message, place)
            if kind == HARDWARE_ADDRESS:
                sender = bytes(message[place + 8 : place + 14])
            elif kind == PAYLOAD:
                payload = bytes(message[place + 4 : place + size])
            place += max(4, size + 3 & ~3)
        return sender, payload


def stamp_packets() -> socket.socket:
    """Let the kernel note when packets come, as long as somebody holds this socket: it does if
    anybody on the machine wants to know.
    """
    wish = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    wish.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMP, 1)
    return wish


def enter(namespace: int) -> None:
    """Move this process into a network namespace."""
    if libc.setns(namespace, CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "the delay line may not enter a network namespace")


class Channel:
    """A netlink socket inside a network namespace; it stays there when this process moves on to the
    next.
    """

    def __init__(self, namespace: int) -> None:
        enter(namespace)
        self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_NETFILTER)
        self._socket.bind((0, 0))
        self._socket.setsockopt(SOL_NETLINK, NETLINK_NO_ENOBUFS, 1)
        try:
            self._socket.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, RECEIVE_BUFFER_BYTES)
        except PermissionError:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER_BYTES)
        self.fileno = self._socket.fileno

    def bind(self, number: int, whole: bool, single: bool) -> None:
        """Take over a queue."""
        limit = attribute(3, struct.pack("!I", QUEUE_LIMIT_PACKETS))
        for attributes in (
            (attribute(1, struct.pack("!BBH", BIND, 0, 2)),),
            (limit, *treatment(whole, single)),
        ):
            self._socket.send(message(CONFIGURE, ACKNOWLEDGE, number, *attributes))
            number_of_error = -struct.unpack_from("=i", self._socket.recv(4096), 16)[0]
            if number_of_error:
                raise OSError(number_of_error, f"queue {number}: {os.strerror(number_of_error)}")

    def treat(self, number: int, whole: bool, single: bool) -> None:
        """Let packets of a queue come up in another way from now on."""
        self._socket.send(message(CONFIGURE, 0, number, *treatment(whole, single)))

    def send(self, messages: list[bytes]) -> None:
        """Give verdicts, many at once."""
        said = b"".join(messages)
        if len(said) <= SENT_AT_ONCE_BYTES:
            self._socket.send(said)
            return
        half = len(messages) // 2
        self.send(messages[:half])
        self.send(messages[half:])
