"""Netlink: requests that change a network are plain data; a channel sends many in one call."""

from __future__ import annotations

import errno
import os
import socket
import struct
import threading
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import NamedTuple, Self

from streambed.errors import MachineError

ROUTE = 0
NETFILTER = 12

REQUEST = 0x1
REPLACE = 0x100
EXCLUSIVE = 0x200
CREATE = 0x400
APPEND = 0x800

HEADER = struct.Struct("=IHHII")
_ERROR = 2
_NESTED = 0x8000
_SEND_LIMIT_BYTES = 60_000
_RECEIVE_BYTES = 65_536


class Refusal(MachineError):
    """The kernel refused a request; `number` is its errno."""

    def __init__(self, asked: str, number: int) -> None:
        self.number = number
        super().__init__(f"the kernel refused to {asked}: {os.strerror(number)}")


class Request(NamedTuple):
    """One message; `asks` completes the sentence "the kernel refused to …"."""

    asks: str
    kind: int
    flags: int
    body: bytes

    def encoded(self, sequence: int) -> bytes:
        """The bytes on the socket."""
        return (
            HEADER.pack(HEADER.size + len(self.body), self.kind, REQUEST | self.flags, sequence, 0)
            + self.body
        )


def attribute(kind: int, content: bytes) -> bytes:
    """A value with its kind and length, padded to four bytes."""
    length = 4 + len(content)
    return struct.pack("=HH", length, kind) + content + bytes(-length % 4)


def nested_attributes(kind: int, *attributes: bytes) -> bytes:
    """Attributes within an attribute."""
    return attribute(kind | _NESTED, b"".join(attributes))


def text(words: str) -> bytes:
    """A string as the kernel reads it."""
    return words.encode() + b"\0"


def u32(number: int) -> bytes:
    """A number in native byte order."""
    return struct.pack("=I", number)


class Channel:
    """A socket to the calling thread's network namespace; any thread may use it afterwards."""

    def __init__(self, protocol: int = ROUTE) -> None:
        try:
            self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, protocol)
        except OSError as error:
            if error.errno in (errno.EMFILE, errno.ENFILE):
                raise
            raise Refusal(
                f"open a netlink socket of protocol {protocol}", error.errno or 0
            ) from error  # A kernel without packet rules.
        self._whole = protocol == NETFILTER
        self._one_at_a_time = threading.Lock()

    def send(self, requests: Sequence[Request]) -> None:
        """Ask for all of `requests`, in order; raise the first Refusal.

        Nothing is acknowledged: the kernel carries messages out before the call returns, and
        answers errors only.
        """
        with self._one_at_a_time:
            for part in _parts(requests, whole=self._whole):
                self._socket.send(part)
            errors = list(_errors(self._socket))
        for sequence, number in errors:
            raise Refusal(requests[sequence].asks, number)

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def send(requests: Sequence[Request], protocol: int = ROUTE) -> None:
    """Ask for all of `requests`, in order, of the network that the calling thread is in; raise the
    first Refusal.
    """
    with Channel(protocol) as channel:
        channel.send(requests)


def _parts(requests: Sequence[Request], *, whole: bool) -> Iterator[bytes]:
    """The messages in as few pieces as the socket takes; `whole` for a transaction, which must be
    one.
    """
    part = b""
    for sequence, request in enumerate(requests):
        message = request.encoded(sequence)
        if part and not whole and len(part) + len(message) > _SEND_LIMIT_BYTES:
            yield part
            part = b""
        part += message
    if part:
        yield part


def _errors(channel: socket.socket) -> Iterator[tuple[int, int]]:
    """The sequence and errno of every refused message."""
    while True:
        try:
            answer = channel.recv(_RECEIVE_BYTES, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return
        while answer:
            length, kind, _, sequence, _ = HEADER.unpack_from(answer)
            number = struct.unpack_from("=i", answer, HEADER.size)[0] if kind == _ERROR else 0
            if number:
                yield sequence, -number
            answer = answer[(length + 3) & ~3 :]
