"""Requests in Kafka's own protocol: who leads a partition, who leads the quorum of controllers.

librdkafka's answers cannot be trusted here. It does not know the quorum: in KRaft mode the
"controller" in a broker's metadata is any broker. And it hides the epochs that tell which of
several answers is the newest: a broker that was cut off keeps naming the old leaders. So every
broker is asked, each inside its own host, where no network fault is felt.
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
"""A paused broker accepts requests and never answers."""
Led = tuple[int, int]
"""An epoch and the number of its leader; -1 for none."""

_METADATA, _METADATA_VERSION = 3, 7
_DESCRIBE_QUORUM, _QUORUM_VERSION = 55, 0
_ELECT, _ELECT_VERSION = 43, 1
_ELECTION_MS = struct.pack("!i", 9000)
"""How long the controller may take."""
_QUORUM_TOPIC = b"__cluster_metadata"
_LENGTH = struct.Struct("!i")


class Partition(NamedTuple):
    """A topic partition as one broker sees it. Brokers are numbers; -1 for none."""

    epoch: int
    leader: int
    replicas: tuple[int, ...]
    in_sync: tuple[int, ...]


View = dict[str, dict[int, Partition]]
"""Topics and their partitions, as one broker sees them."""


def view_request(topics: Sequence[str]) -> bytes:
    """Ask a broker about topics, without creating them."""
    no_creation = b"\0"
    body = struct.pack("!i", len(topics)) + b"".join(map(_text, topics)) + no_creation
    return _request(_METADATA, _METADATA_VERSION, b"", body)


def view(answer: bytes) -> View:
    """The requested topics; one that this broker does not know has no partitions."""
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
    partitions = {}
    for _ in range(reader.number("i")):
        _, partition, leader, epoch = reader.take("hiii")
        replicas = reader.numbers()
        in_sync = reader.numbers()
        reader.numbers()  # Offline replicas.
        partitions[partition] = Partition(epoch, leader, replicas, in_sync)
    return name, partitions


def quorum_request() -> bytes:
    """Ask a controller who leads the quorum; only the leader itself answers."""
    one, no_tags = b"\2", b"\0"
    partition = one + struct.pack("!i", 0) + no_tags
    body = one + _compact(_QUORUM_TOPIC) + partition + no_tags + no_tags
    return _request(_DESCRIBE_QUORUM, _QUORUM_VERSION, no_tags, body)


def quorum_leader(answer: bytes) -> Led | None:
    """The epoch and number of the leading controller; None if the one asked does not lead."""
    head = struct.calcsize("!iBh")
    _, _, error = struct.unpack_from("!iBh", answer)
    if error:
        return None
    _, partition_error, leader, epoch = struct.unpack_from(
        "!ihii", answer, head + 1 + len(_compact(_QUORUM_TOPIC)) + 1
    )
    return None if partition_error else (epoch, leader)


def election_request(topic: str, partition: int, *, unclean: bool) -> bytes:
    """Ask a broker to let a partition elect its preferred leader, or any live replica."""
    kind = struct.pack("!b", 1 if unclean else 0)
    one = struct.pack("!i", 1)
    partitions = one + _text(topic) + one + struct.pack("!i", partition)
    return _request(_ELECT, _ELECT_VERSION, b"", kind + partitions + _ELECTION_MS)


def election_error(answer: bytes) -> int:
    """The error code of an election, of the whole request or of its one partition; 0 for none."""
    reader = _Reader(answer)
    reader.take("ii")  # Correlation, throttle time.
    error = reader.number("h")
    if error or not reader.number("i"):
        return error
    reader.text()
    reader.number("i")
    _, error = reader.take("ih")
    return error


def answers(
    connections: Iterable[socket.socket], request: bytes, limit_s: float = ANSWER_LIMIT_S
) -> Iterator[bytes]:
    """Send one request to all at once; yields every answer in time. Closes the connections."""
    end = time.monotonic() + limit_s
    with ExitStack() as stack, selectors.DefaultSelector() as waiting:
        for connection in map(stack.enter_context, connections):
            connection.settimeout(limit_s)
            with suppress(OSError):  # It has just died; the others answer.
                connection.sendall(request)
                waiting.register(connection, selectors.EVENT_READ)
        while waiting.get_map() and (ready := waiting.select(max(0.0, end - time.monotonic()))):
            for key, _ in ready:
                waiting.unregister(key.fileobj)
                if answer := _read(key.fileobj):  # type: ignore[arg-type]
                    yield answer


def coordinating_partition(group: str, partitions: int) -> int:
    """The partition of __consumer_offsets whose leader coordinates a group, by Java's hash."""
    number = 0
    units = group.encode("utf-16-be")
    for high, low in zip(units[::2], units[1::2], strict=True):
        number = (31 * number + (high << 8 | low)) & 0xFFFFFFFF
    signed = number - (number >> 31 << 32)
    return (abs(signed) & 0x7FFFFFFF) % partitions


class _Reader:
    """Reads the fields of an answer, one after the other."""

    def __init__(self, answer: bytes) -> None:
        self._answer = answer
        self._at = 0

    def take(self, form: str) -> tuple[int, ...]:
        fields = struct.Struct(f"!{form}")
        self._at += fields.size
        return fields.unpack_from(self._answer, self._at - fields.size)

    def number(self, form: str) -> int:
        return self.take(form)[0]

    def numbers(self) -> tuple[int, ...]:
        """An array of 32-bit integers, after its length."""
        return self.take(f"{self.number('i')}i")

    def text(self) -> str:
        """A string, after its length, which is -1 for null."""
        length = max(0, self.number("h"))
        self._at += length
        return self._answer[self._at - length : self._at].decode()


def _read(connection: socket.socket) -> bytes:
    """One whole answer; empty if the broker is gone or stops answering."""
    try:
        with connection.makefile("rb") as stream:
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
