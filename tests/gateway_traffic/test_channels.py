"""The clients' channels, fed byte by byte."""

from __future__ import annotations

from typing import Any

import pytest

from gateway_traffic.client.http_channel import HttpChannel
from gateway_traffic.client.session import Patience
from gateway_traffic.client.websocket_channel import BINARY, TEXT, frame, split


class Transport:
    def __init__(self) -> None:
        self.written = b""
        self.aborted = False

    def write(self, payload: bytes) -> None:
        self.written += payload

    def abort(self) -> None:
        self.aborted = True


class Poster:
    def __init__(self) -> None:
        self.heard: list[Any] = []

    def ready(self) -> None:
        self.heard.append("ready")

    def answered(self, status: int, retry_after_s: float) -> None:
        self.heard.append((status, retry_after_s))

    def lost(self, why: str) -> None:
        self.heard.append("lost")


def connected() -> tuple[HttpChannel, Poster, Transport]:
    poster, transport = Poster(), Transport()
    channel = HttpChannel(poster, b"POST / HTTP/1.1\r\nContent-Length: ")
    channel.connection_made(transport)  # type: ignore[arg-type]
    return channel, poster, transport


@pytest.mark.parametrize("piece", [1, 7, 1000])
def test_answers_are_understood_however_they_are_cut(piece):
    channel, poster, transport = connected()
    channel.post(b"abc")
    assert transport.written == b"POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc"
    answers = (
        b"HTTP/1.1 204 No Content\r\n\r\n",
        b"HTTP/1.1 503 Later\r\nRetry-After: 2\r\nContent-Length: 5\r\n\r\nlater",
    )
    for answer in answers:
        for at in range(0, len(answer), piece):
            channel.data_received(answer[at : at + piece])
    assert poster.heard == ["ready", (204, 0.0), (503, 2.0)]


@pytest.mark.parametrize(
    "answer",
    [
        b"ICY 200 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"x" * 70_000,
    ],
)
def test_an_answer_that_is_not_understood_is_a_lost_connection(answer):
    channel, poster, transport = connected()
    channel.data_received(answer)
    assert poster.heard == ["ready", "lost"]
    assert transport.aborted
    assert not channel.usable


def test_a_closing_answer_ends_the_connection_in_order():
    channel, poster, _ = connected()
    channel.data_received(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
    channel.connection_lost(None)
    assert poster.heard == ["ready", (204, 0.0)]
    assert not channel.usable


@pytest.mark.parametrize("length", [0, 1, 125, 126, 65_535, 65_536])
def test_frames_are_masked_and_sized_as_the_standard_says(length):
    payload, mask = (
        bytes(range(256)) * (length // 256) + bytes(range(length % 256)),
        b"\x01\x80\xff\x00",
    )
    made = frame(payload, BINARY, mask)
    masked = made[-length:] if length else b""
    assert made[0] == 0x82 and made[1] & 0x80
    assert bytes(byte ^ mask[at % 4] for at, byte in enumerate(masked)) == payload


@pytest.mark.parametrize("length", [0, 3, 200, 70_000])
def test_a_servers_frame_is_read_when_it_is_whole(length):
    size = (
        bytes([length])
        if length < 126
        else b"\x7e" + length.to_bytes(2, "big")
        if length < 65_536
        else b"\x7f" + length.to_bytes(8, "big")
    )
    whole = b"\x81" + size + b"a" * length
    for cut in {0, 1, 2, 3, 9, len(whole) - 1} & set(range(len(whole))):
        assert split(whole[:cut]) is None
    assert split(whole + b"rest") == (TEXT, b"a" * length, b"rest")


@pytest.mark.parametrize(
    "wrong", [b"\x01\x01a", b"\xc1\x01a", b"\x81\x81aaaaa"], ids=["fragment", "extension", "mask"]
)
def test_frames_that_our_server_never_sends_are_not_understood(wrong):
    assert split(wrong) == (-1, b"", b"")


def test_pauses_grow_differ_and_heed_the_server():
    patience = Patience(backoff_s=0.1, backoff_max_s=2.0)
    assert 0.1 <= patience.pause_s(1, 0.0) <= 0.15
    assert 0.4 <= patience.pause_s(3, 0.0) <= 0.6
    assert 2.0 <= patience.pause_s(1000, 0.0) <= 3.0
    assert 7.0 <= patience.pause_s(1, 7.0) <= 10.5
    assert len({patience.pause_s(1, 0.0) for _ in range(5)}) == 5
