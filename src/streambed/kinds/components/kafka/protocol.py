"""Questions in Kafka's own protocol: who leads a partition, who leads the quorum of controllers.

librdkafka cannot put them so that the answer can be trusted. It knows of no quorum, and in KRaft
mode the "controller" of a broker's metadata is any broker. And it hides the epochs, by which the
newest of several answers is told: a broker that was cut off goes on naming the leaders of old. So
every broker is asked, each inside its own host, where no fault of the network is felt.
"""

from __future__ import annotations

import selectors
import socket
import struct
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from typing import NamedTuple

ANSWER_LIMIT_S = 0.5
"""A broker that is paused takes questions and never answers."""
Led = tuple[int, int]
"""An epoch and who leads in it; -1 is nobody."""

_METADATA, _METADATA_VERSION = 3, 7
_DESCRIBE_QUORUM, _QUORUM_VERSION = 55, 0
_QUORUM_TOPIC = b"__cluster_metadata"
_LENGTH = struct.Struct("!i")


class Partition(NamedTuple):
    """A topic partition as one broker sees it: who leads since which epoch, and who has all of it.
    Brokers by number; -1 is nobody.
    """

    epoch: int
    leader: int
    replicas: tuple[int, ...]
    in_sync: tuple[int, ...]


View = dict[str, dict[int, Partition]]
"""Topics and their partitions, as one broker sees them."""


def view_request(topics: Sequence[str]) -> bytes:
    """Ask a broker about topics, without making them."""
    no_creation = b"\0"
    return _request(
        _METADATA,
        _METADATA_VERSION,
        b"",
        struct.pack("!i", len(topics)) + b"".join(map(_text, topics)) + no_creation,
    )


def view(answer: bytes) -> View:
    """The topics that were asked for; one that this broker does not know has no partitions."""
    reader = _Reader(answer)
    reader.take("ii")  # Correlation, throttle time.
    for _ in range(reader.number("i")):
        reader.number("i")
        reader.text()
        reader.number("i")
        reader.text()  # Rack.
    reader.text()  # Cluster.
    reader.number("i")  # Any broker, in place of the controller.
    return dict(_topic(reader) for _ in range(reader.number("i")))


def _topic(reader: _Reader) -> tuple[str, dict[int, Partition]]:
    reader.number("h")
    name = reader.text()
    reader.number("?")
    found = {}
    for _ in range(reader.number("i")):
        _, partition, leader, epoch = reader.take("hiii")
        replicas, in_sync, _ = (
            reader.take(f"{reader.number('i')}i") for _ in ("replicas", "in sync", "offline")
        )
        found[partition] = Partition(epoch, leader, replicas, in_sync)
    return name, found


def quorum_request() -> bytes:
    """Ask a controller who leads the quorum; only the leader itself answers."""
    one, no_tags = b"\2", b"\0"
    partition = one + struct.pack("!i", 0) + no_tags
    return _request(
        _DESCRIBE_QUORUM,
        _QUORUM_VERSION,
        no_tags,
        one + _compact(_QUORUM_TOPIC) + partition + no_tags + no_tags,
    )


def quorum_leader(answer: bytes) -> Led | None:
    """The epoch and number of the controller that leads; nothing if the one that was asked does
    not.
    """
    head = struct.calcsize("!iBh")
    _, _, error = struct.unpack_from("!iBh", answer)
    if error:
        return None
    _, partition_error, leader, epoch = struct.unpack_from(
        "!ihii", answer, head + 1 + len(_compact(_QUORUM_TOPIC)) + 1
    )
    return None if partition_error else (epoch, leader)


def answers(
    doors: Iterable[socket.socket], request: bytes, limit_s: float = ANSWER_LIMIT_S
) -> Iterator[bytes]:
    """Put one question to all at once; every answer that comes in time. Closes the doors."""
    end = time.monotonic() + limit_s
    with ExitStack() as stack, selectors.DefaultSelector() as waiting:
        for door in map(stack.enter_context, doors):
            door.settimeout(limit_s)
            with suppress(OSError):  # It has just died: the others know.
                door.sendall(request)
                waiting.register(door, selectors.EVENT_READ)
        while waiting.get_map() and (ready := waiting.select(max(0.0, end - time.monotonic()))):
            for key, _ in ready:
                waiting.unregister(key.fileobj)
                if answer := _read(key.fileobj):  # type: ignore[arg-type]
                    yield answer


def coordinating_partition(group: str, partitions: int) -> int:
    """The partition of __consumer_offsets whose leader coordinates a group: Java's hash of its name
    decides.
    """
    number = 0
    units = group.encode("utf-16-be")
    for high, low in zip(units[::2], units[1::2], strict=True):
        number = (31 * number + (high << 8 | low)) & 0xFFFFFFFF
    signed = number - (number >> 31 << 32)
    return (abs(signed) & 0x7FFFFFFF) % partitions


class _Reader:
    """Takes fields off an answer, one after the other."""

    def __init__(self, answer: bytes) -> None:
        self._answer = answer
        self._at = 0

    def take(self, form: str) -> tuple[int, ...]:
        fields = struct.Struct(f"!{form}")
        self._at += fields.size
        return fields.unpack_from(self._answer, self._at - fields.size)

    def number(self, form: str) -> int:
        return self.take(form)[0]

    def text(self) -> str:
        """Its length is -1 where there is none."""
        length = max(0, self.number("h"))
        self._at += length
        return self._answer[self._at - length : self._at].decode()


def _read(door: socket.socket) -> bytes:
    """One whole answer; empty if the other end is gone or falls silent."""
    try:
        with door.makefile("rb") as stream:
            (length,) = _LENGTH.unpack(stream.read(_LENGTH.size))
            answer = stream.read(length)
    except (OSError, struct.error):
        return b""
    return answer if len(answer) == length else b""


def _request(kind: int, version: int, tags: bytes, body: bytes) -> bytes:
    head = struct.pack("!hhi", kind, version, 0) + _text("streambed") + tags
    return _LENGTH.pack(len(head) + len(body)) + head + body


def _text(words: str) -> bytes:
    return struct.pack("!h", len(words)) + words.encode()


def _compact(words: bytes) -> bytes:
    return bytes([len(words) + 1]) + words
