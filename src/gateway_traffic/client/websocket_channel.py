"""A minimal WebSocket client (RFC 6455): sends records and reads counts, pings and close frames."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import os
from typing import Protocol, cast

from gateway_traffic.client.http_channel import ANSWER_BYTES_MAX, parse_head

GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
TEXT, BINARY, CLOSE, PING, PONG = 0x1, 0x2, 0x8, 0x9, 0xA
NO_STATUS = 1005
ABNORMAL = 1006
"""The code for a socket lost without a close frame; it is never sent."""


class SocketOwner(Protocol):
    """The owner of a channel; these are its callbacks."""

    def ready(self) -> None:
        """The socket is open, or can be written to again."""

    def acked(self, count: int) -> None:
        """The first `count` records of this socket have been acknowledged."""

    def closed(self, code: int, why: str, retry_after_s: float = 0.0) -> None:
        """The socket is closed: a close code, or the HTTP status that refused it."""


class WebSocketChannel(asyncio.Protocol):
    """One socket."""

    def __init__(self, owner: SocketOwner, head: bytes) -> None:
        self._owner = owner
        self._key = base64.b64encode(os.urandom(16))
        self._head = head
        self._transport: asyncio.Transport | None = None
        self._received = b""
        self._open = False
        self._paused = False
        self._closed = False

    @property
    def opening(self) -> bool:
        """Whether the handshake is not complete yet."""
        return not self._open and not self._closed

    @property
    def usable(self) -> bool:
        """Whether a record can be sent."""
        return self._open and not self._closed and not self._paused

    def send(self, payload: bytes, kind: int = BINARY) -> None:
        """Send one message in one frame."""
        assert self._transport
        self._transport.write(frame(payload, kind, os.urandom(4)))

    def close(self) -> None:
        """Send a close frame and close the connection without calling the owner."""
        if self._open and not self._closed:
            self.send((1000).to_bytes(2, "big"), CLOSE)
        self._closed = True
        if self._transport:
            self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Send the handshake, unless the channel was closed meanwhile."""
        self._transport = cast(asyncio.Transport, transport)
        if self._closed:
            self._transport.abort()
        else:
            self._transport.write(b"%bSec-WebSocket-Key: %b\r\n\r\n" % (self._head, self._key))

    def data_received(self, data: bytes) -> None:
        """Complete the handshake, then handle every complete frame."""
        self._received += data
        if not self._open:
            self._shake_hands()
        while self._open and not self._closed and (frame_read := split(self._received)):
            kind, payload, self._received = frame_read
            self._handle_frame(kind, payload)
        if len(self._received) > ANSWER_BYTES_MAX:
            self._end(ABNORMAL, "the server sends more than it should")

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell the owner, unless the channel was closed on this side."""
        self.failed(str(exc or "the server closed the connection"))

    def failed(self, why: str) -> None:
        """Connecting failed, or the connection was lost: tell the owner, once."""
        self._end(ABNORMAL, why)

    def pause_writing(self) -> None:
        """Stop sending: the write buffer is full because the server does not read."""
        self._paused = True

    def resume_writing(self) -> None:
        """Let the owner send again: the write buffer has room."""
        self._paused = False
        if self.usable:
            self._owner.ready()

    def _shake_hands(self) -> None:
        head, separator, rest = self._received.partition(b"\r\n\r\n")
        if not separator:
            return
        status, headers = parse_head(head)
        if status != 101:
            retry_after = headers.get(b"retry-after", b"0")
            retry_after_s = float(retry_after) if retry_after.isdigit() else 0.0
            self._end(status or ABNORMAL, "the server refused the socket", retry_after_s)
        elif headers.get(b"sec-websocket-accept") != self._expected_accept():
            self._end(ABNORMAL, "the server's handshake is wrong")
        else:
            self._received, self._open = rest, True
            self._owner.ready()

    def _expected_accept(self) -> bytes:
        return base64.b64encode(hashlib.sha1(self._key + GUID).digest())

    def _handle_frame(self, kind: int, payload: bytes) -> None:
        if kind == TEXT and payload.isdigit():
            self._owner.acked(int(payload))
        elif kind == PING:
            self.send(payload, PONG)
        elif kind == CLOSE:
            if self._transport and not self._transport.is_closing():
                self.send(payload[:2], CLOSE)
            code = int.from_bytes(payload[:2], "big") or NO_STATUS
            self._end(code, payload[2:].decode(errors="replace"))
        elif kind != PONG:
            self._end(ABNORMAL, "the server says what is not understood")

    def _end(self, code: int, why: str, retry_after_s: float = 0.0) -> None:
        if self._closed:
            return
        self._closed = True
        if self._transport:
            self._transport.close()
        self._owner.closed(code, why, retry_after_s)


def frame(payload: bytes, kind: int, mask: bytes) -> bytes:
    """A whole masked frame, as clients send them."""
    length = len(payload)
    if length < 126:
        size = bytes((0x80 | length,))
    elif length < 65_536:
        size = b"\xfe" + length.to_bytes(2, "big")
    else:
        size = b"\xff" + length.to_bytes(8, "big")
    # XOR all bytes as one long number: a loop over bytes would cost more than all the rest.
    masks = int.from_bytes((mask * (length // 4 + 1))[:length], "big")
    masked = (int.from_bytes(payload, "big") ^ masks).to_bytes(length, "big")
    return b"%c%b%b%b" % (0x80 | kind, size, mask, masked)


def split(received: bytes) -> tuple[int, bytes, bytes] | None:
    """Kind and payload of the first frame, and the remaining bytes; None if it is incomplete.

    The ingest server never sends fragments, extensions or masks: they have kind -1.
    """
    if len(received) < 2:
        return None
    if received[0] & 0xF0 != 0x80 or received[1] & 0x80:
        return -1, b"", b""
    length = received[1]
    wide = {126: 2, 127: 8}.get(length, 0)
    at = 2 + wide
    if wide and len(received) >= at:
        length = int.from_bytes(received[2:at], "big")
    if len(received) < at + length:
        return None
    return received[0] & 0x0F, received[at : at + length], received[at + length :]
