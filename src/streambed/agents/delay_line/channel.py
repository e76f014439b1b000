"""Netlink sockets to the kernel, one in each network namespace: packets come, verdicts go."""

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
"""A full queue drops packets, as a link does."""
HEAD_BYTES, WHOLE_BYTES = 20, 1536
"""How much of a packet the kernel copies: only its head, or all of a full frame."""

SLOTS = 64
"""Packets taken by one call."""
SLOT_BYTES = 27 * 64
"""Whole cache lines, but no power of two, which would map all slots to a few cache sets."""
SENT_AT_ONCE_BYTES = 64 << 10

libc = ctypes.CDLL(None, use_errno=True)
IS_PACKET: int = struct.unpack("!H", struct.pack("=H", PACKET))[0]
"""The message kind of a packet, as unpacked from the head of a slot."""
IS_STAMPED: int = struct.unpack("!I", struct.pack("=HH", 20, 4))[0]
"""Precedes the arrival time, which packets from another namespace have."""
Head = tuple[int, int, int, int, int, int]
"""Message kind, queue number, packet id, IS_STAMPED if a time follows, seconds, microseconds."""
_heads = struct.Struct(f"!4xH12xH4xI28xIQQ{SLOT_BYTES - 76}x").iter_unpack
_id = struct.Struct("!I").pack


def attribute(kind: int, content: bytes) -> bytes:
    """A netlink attribute, padded to four bytes."""
    length = 4 + len(content)
    return struct.pack("=HH", length, kind) + content + bytes(-length % 4)


def message(kind: int, flags: int, number: int, *attributes: bytes) -> bytes:
    """A netlink message about one queue."""
    body = struct.pack("!BBH", 0, 0, number) + b"".join(attributes)
    return struct.pack("=IHHII", 16 + len(body), kind, REQUEST | flags, 0, 0) + body


class Verdicts:
    """The verdict messages of one queue."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._accept, self._accept_up_to, self._drop = (
            message(kind, 0, number, attribute(VERDICT_HEADER, struct.pack("!II", judgement, 0)))[
                :-4
            ]
            for kind, judgement in ((VERDICT, ACCEPT), (VERDICT_UP_TO, ACCEPT), (VERDICT, DROP))
        )

    def accept(self, packet: int, mangled: bytes = b"") -> bytes:
        """Release one packet, with new content if given."""
        if mangled:
            judgement = attribute(VERDICT_HEADER, struct.pack("!II", ACCEPT, packet))
            return message(VERDICT, 0, self._number, judgement, attribute(PAYLOAD, mangled))
        return self._accept + _id(packet)

    def accept_up_to(self, packet: int) -> bytes:
        """Release this packet and all before it."""
        return self._accept_up_to + _id(packet)

    def drop(self, packet: int) -> bytes:
        """Drop this packet."""
        return self._drop + _id(packet)


def treatment(whole: bool, single: bool) -> tuple[bytes, ...]:
    """How packets come up: whole or only the head; segments of one send singly, with checksums, or
    as one packet.
    """
    copies = attribute(2, struct.pack("!IB", WHOLE_BYTES if whole else HEAD_BYTES, COPY_PACKET))
    return (
        copies,
        attribute(4, struct.pack("!I", GSO_FLAG)),
        attribute(5, struct.pack("!I", 0 if single else GSO_FLAG)),
    )


class Slots:
    """Receive buffers, shared by all channels: recvmmsg takes many packets in one call."""

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
        """Receive waiting messages, at most SLOTS. Returns their number."""
        came: int = self._receive(descriptor, self._headers, SLOTS, socket.MSG_DONTWAIT, None)
        return max(0, came)

    def packets(self, count: int) -> Iterable[Head]:
        """The heads of the first `count` messages; some may be errors instead of packets."""
        return _heads(self._view[: count * SLOT_BYTES])

    def content(self, slot: int) -> tuple[bytes, bytes]:
        """The hardware address of a packet's sender, if known, and the copied part of it."""
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
    """Make the kernel timestamp packets while this socket is open."""
    wish = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    wish.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMP, 1)
    return wish


def enter(namespace: int) -> None:
    """Move this process into a network namespace."""
    if libc.setns(namespace, CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "the delay line may not enter a network namespace")


class Channel:
    """A netlink socket in a network namespace; it stays there when this process moves on."""

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
        """Bind a queue to this socket."""
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
        """Change how packets of a queue come up."""
        self._socket.send(message(CONFIGURE, 0, number, *treatment(whole, single)))

    def send(self, messages: list[bytes]) -> None:
        """Send verdicts, many at once."""
        data = b"".join(messages)
        if len(data) <= SENT_AT_ONCE_BYTES:
            self._socket.send(data)
            return
        half = len(messages) // 2
        self.send(messages[:half])
        self.send(messages[half:])
