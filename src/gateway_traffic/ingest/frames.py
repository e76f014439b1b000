"""Rules of WebSocket (RFC 6455) that aiohttp's reader does not check."""

from __future__ import annotations

from aiohttp.http_websocket import WebSocketReader

BROKEN_HEADER = b"\x70\x80"
"""Has reserved bits, so aiohttp's reader closes the socket with 1002."""
MASKED = 0x80
MASK_BYTES = 4
LENGTH_BYTES = {126: 2, 127: 8}
"""Bytes of a longer length, by what the short one says."""


class MaskedFrames:
    """A reader that refuses frames without a mask: every client must mask its frames.

    It follows the frames by their headers and hands their bytes on to aiohttp's reader.
    """

    def __init__(self, reader: WebSocketReader) -> None:
        self._reader = reader
        self._to_skip = 0
        """Bytes until the next header begins."""
        self._header = b""
        """The beginning of a header whose rest has not come."""

    def feed_data(self, data: bytes) -> tuple[bool, bytes]:
        """Check the frames and hand them to aiohttp's reader. Returns what that returns."""
        if self._to_skip >= len(data):
            self._to_skip -= len(data)
            return self._reader.feed_data(data)
        received = self._header + data
        position = self._to_skip
        self._to_skip, self._header = 0, b""
        while position < len(received):
            if _is_unmasked(received, position):
                return self._reader.feed_data(received[:position] + BROKEN_HEADER)
            end = _end_of_frame(received, position)
            if end is None:
                self._header = received[position:]
                return self._reader.feed_data(received[:position])
            position = end
        self._to_skip = position - len(received)
        return self._reader.feed_data(received)

    def feed_eof(self) -> None:
        """Tell aiohttp's reader that no more bytes come."""
        self._reader.feed_eof()


def _is_unmasked(received: bytes, position: int) -> bool:
    return len(received) >= position + 2 and received[position + 1] < MASKED


def _end_of_frame(received: bytes, position: int) -> int | None:
    """Where a masked frame ends; None if its header is incomplete."""
    if len(received) < position + 2:
        return None
    length = received[position + 1] & 0x7F
    wide = LENGTH_BYTES.get(length, 0)
    payload_at = position + 2 + wide
    if wide:
        if len(received) < payload_at:
            return None
        length = int.from_bytes(received[position + 2 : payload_at], "big")
    return payload_at + MASK_BYTES + length


def is_close_code(code: int) -> bool:
    """Whether a client may close with this code; 0 stands for none."""
    reserved = (1004, 1005, 1006)
    return code == 0 or (1000 <= code <= 1014 and code not in reserved) or 3000 <= code <= 4999
