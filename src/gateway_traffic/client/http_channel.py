"""A minimal HTTP/1.1 client connection that posts records.

It reads responses with a Content-Length or without a body, which is what the ingest server sends.
Anything else counts as a lost connection.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol, cast

ANSWER_BYTES_MAX = 65_536
BODILESS = (204, 304)


class Poster(Protocol):
    """The owner of a channel; these are its callbacks."""

    def ready(self) -> None:
        """The connection is open."""

    def answered(self, status: int, retry_after_s: float) -> None:
        """A response has arrived."""

    def lost(self, why: str) -> None:
        """The connection is gone; an awaited response will not come."""


class HttpChannel(asyncio.Protocol):
    """One connection, with one request at a time."""

    def __init__(self, poster: Poster, head: bytes) -> None:
        self._poster = poster
        self._head = head
        self._write: Callable[[bytes], None] | None = None
        self._transport: asyncio.Transport | None = None
        self._answer = b""
        self._closed = False

    def post(self, payload: bytes) -> None:
        """Send a request; `head` holds all of it up to the length."""
        assert self._write
        self._write(b"%b%d\r\n\r\n%b" % (self._head, len(payload), payload))

    def close(self) -> None:
        """Abort the connection without calling the poster."""
        self._closed = True
        if self._transport:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Tell the poster, unless the channel was closed meanwhile."""
        self._transport = cast(asyncio.Transport, transport)
        self._write = self._transport.write
        if self._closed:
            self._transport.abort()
        else:
            self._poster.ready()

    def data_received(self, data: bytes) -> None:
        """Collect a response and hand it to the poster once it is complete."""
        self._answer += data
        head, separator, body = self._answer.partition(b"\r\n\r\n")
        if not separator:
            if len(self._answer) > ANSWER_BYTES_MAX:
                self._break("the answer has no end")
            return
        status, headers = parse_head(head)
        length = (
            0 if status in BODILESS else _digits_or_minus_one(headers.get(b"content-length", b"-"))
        )
        if not status or length < 0 or length > ANSWER_BYTES_MAX:
            self._break("the answer is not understood")
        elif len(body) >= length:
            self._answer = b""
            if headers.get(b"connection", b"").lower() == b"close":
                self.close()
            retry_after = _digits_or_minus_one(headers.get(b"retry-after", b"0"))
            self._poster.answered(status, float(max(0, retry_after)))

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell the poster, unless the channel was closed on this side."""
        self.failed(str(exc or "the server closed the connection"))

    def failed(self, why: str) -> None:
        """Connecting failed, or the connection was lost: tell the poster, once."""
        if not self._closed:
            self._closed = True
            self._poster.lost(why)

    @property
    def usable(self) -> bool:
        """Whether another request can be sent."""
        return self._write is not None and not self._closed

    def _break(self, why: str) -> None:
        self.close()
        self._poster.lost(why)


def parse_head(head: bytes) -> tuple[int, dict[bytes, bytes]]:
    """Status and headers of a response, names in lower case; status 0 if it is not HTTP."""
    first, *lines = head.split(b"\r\n")
    words = first.split(b" ", 2)
    status = (
        _digits_or_minus_one(words[1]) if len(words) > 1 and words[0].startswith(b"HTTP/1.") else 0
    )
    headers = {}
    for line in lines:
        name, _, value = line.partition(b":")
        headers[name.strip().lower()] = value.strip()
    return max(0, status), headers


def _digits_or_minus_one(digits: bytes) -> int:
    return int(digits) if digits.isdigit() else -1
