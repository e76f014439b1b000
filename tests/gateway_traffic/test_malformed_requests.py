"""Requests and frames by which a client tries to hide a second request, or to fill the memory.

Each gets one answer, and its connection ends: what follows is never taken for a request.
"""

from __future__ import annotations

import gzip
import ssl
import zlib

import pytest

from gateway_traffic.client.websocket_channel import BINARY, frame
from gateway_traffic.ingest.tls import tls_context
from tests.support.gateways.raw_sockets import HEALTH, TOKENS, close_code, socket_of
from tests.support.gateways.requests import HEADERS, posted, raw, run
from tests.support.gateways.serving import payload, running

HEAD = f"POST /v1/counter HTTP/1.1\r\nHost: x\r\nContent-Type: {HEADERS['Content-Type']}\r\n"
CHUNKED = "Transfer-Encoding: chunked\r\n\r\n"
MALFORMED = {
    "length, then chunks": f"{HEAD}Content-Length: 5\r\n{CHUNKED}0\r\n\r\n",
    "chunks, then length": f"{HEAD}Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n",
    "two lengths": f"{HEAD}Content-Length: 1\r\nContent-Length: 2\r\n\r\n{{}}",
    "one length twice": f"{HEAD}Content-Length: 2\r\nContent-Length: 2\r\n\r\n{{}}",
    "a list of lengths": f"{HEAD}Content-Length: 2, 2\r\n\r\n{{}}",
    "a length with a plus": f"{HEAD}Content-Length: +2\r\n\r\n{{}}",
    "a negative length": f"{HEAD}Content-Length: -2\r\n\r\n{{}}",
    "a length with an underscore": f"{HEAD}Content-Length: 1_0\r\n\r\n{{}}",
    "a length of 23 digits": f"{HEAD}Content-Length: 99999999999999999999999\r\n\r\n{{}}",
    "a folded header": f"{HEAD}X: a\r\n b\r\nContent-Length: 2\r\n\r\n{{}}",
    "a folded encoding": f"{HEAD}Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n",
    "lines without a return": "POST /v1/counter HTTP/1.1\nHost: x\n\n",
    "a return inside a line": f"{HEAD}X: a\rY: b\r\n\r\n",
    "a space before the colon": f"{HEAD}Content-Length : 2\r\n\r\n{{}}",
    "an unknown encoding": f"{HEAD}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "chunks of chunks": f"{HEAD}Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
    "chunks, then nothing": f"{HEAD}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
    "chunks in HTTP/1.0": f"{HEAD.replace('1.1', '1.0')}{CHUNKED}0\r\n\r\n",
    "a chunk of 0x2 bytes": f"{HEAD}{CHUNKED}0x2\r\n{{}}\r\n0\r\n\r\n",
    "a chunk of -2 bytes": f"{HEAD}{CHUNKED}-2\r\n{{}}\r\n0\r\n\r\n",
    "chunks without returns": f"{HEAD}{CHUNKED}2\n{{}}\n0\n\n",
    "a chunk that is too short": f"{HEAD}{CHUNKED}3\r\n{{}}\r\n0\r\n\r\n",
    "10,000 trailers": f"{HEAD}{CHUNKED}2\r\n{{}}\r\n0\r\n" + "X: y\r\n" * 10_000 + "\r\n",
    "10,000 headers": HEAD + "X: y\r\n" * 10_000 + "\r\n",
    "no host": "GET /health HTTP/1.1\r\n\r\n",
    "two hosts": "GET /health HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
    "a method with a zero": "G\x00T / HTTP/1.1\r\nHost: x\r\n\r\n",
    "an unknown version": "GET / HTTP/9.9\r\nHost: x\r\n\r\n",
    "brotli": f"{HEAD}Content-Encoding: br\r\nContent-Length: 2\r\n\r\n{{}}",
}
ZEROS = b"0" * 3_000_000
BOMBS = {
    "gzip of 50 MB": ("gzip", gzip.compress(b"0" * 50_000_000)),
    "gzip of 3 MB": ("gzip", gzip.compress(ZEROS)),
    "deflate of 3 MB": ("deflate", zlib.compress(ZEROS)),
}
MASK = b"mask"
LARGE = frame(b"x" * 3000, BINARY, MASK)[1:]
FRAMES = {
    "a reserved bit": (bytes([0xF2, 0x80]) + MASK, 1002),
    "an unknown opcode": (frame(b"x", 3, MASK), 1002),
    "an unknown control opcode": (frame(b"x", 0xB, MASK), 1002),
    "a fragmented ping": (bytes([0x09, 0x80]) + MASK, 1002),
    "a ping of 126 bytes": (frame(b"x" * 126, 9, MASK), 1002),
    "a length of 2^64 - 1": (bytes([0x82, 0xFF]) + b"\xff" * 8 + MASK, 1009),
    "a continuation of nothing": (frame(b"x", 0, MASK), 1002),
    "fragments that are too long together": (b"\x02" + LARGE + (b"\x00" + LARGE) * 3, 1009),
    "text that is not UTF-8": (frame(b"\xff\xfe", 1, MASK), 4400),
    "half a close code": (bytes([0x88, 0x81]) + MASK + b"x", 1002),
    "brackets 3000 deep": (frame(b"[" * 3000, BINARY, MASK), 4400),
    "not a number": (frame(payload(1).replace(b'"ipTx":', b'"ipTx":NaN,"x":'), BINARY, MASK), 4400),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_request_is_refused_once_and_hides_no_second_one(name: str) -> None:
    async def test() -> None:
        async with running() as at:
            answer = await raw(at, MALFORMED[name].encode("latin-1") + HEALTH)

            assert b" 400 " in answer.partition(b"\r\n")[0]
            assert answer.count(b"HTTP/1.") == 1
            assert not at.forwarder.taken

    run(test)


@pytest.mark.parametrize("name", BOMBS)
def test_a_body_that_unpacks_to_more_than_is_allowed_is_refused(name: str) -> None:
    encoding, body = BOMBS[name]
    head = f"{HEAD}Content-Encoding: {encoding}\r\nContent-Length: {len(body)}\r\n\r\n"

    async def test() -> None:
        async with running() as at:
            answer = await raw(at, head.encode() + body)

            assert b" 413 " in answer.partition(b"\r\n")[0]
            assert not at.forwarder.taken

    run(test)


@pytest.mark.parametrize("name", FRAMES)
def test_a_malformed_frame_ends_the_socket_with_its_reason(name: str) -> None:
    sent, code = FRAMES[name]

    async def test() -> None:
        async with running() as at:
            reader, writer, _ = await socket_of(at)
            writer.write(sent)

            assert await close_code(reader) == code
            assert not at.forwarder.taken
            writer.close()

    run(test)


@pytest.mark.parametrize(("last", "status"), [("gw-1", 204), ("gw-2", 401)])
def test_a_gateway_that_is_named_twice_is_the_last_one(last: str, status: int) -> None:
    first = "gw-2" if last == "gw-1" else "gw-1"
    names = f'{{"gateway_id":"{first}","gateway_id":"{last}",'
    body = payload(1).replace(b'{"gateway_id":"gw-1",', names.encode(), 1)
    headers = {**HEADERS, "Authorization": f"Bearer {TOKENS.of('gw-1')}"}

    async def test() -> None:
        async with running(tokens=TOKENS) as at:
            assert (await posted(at, body, headers))[0] == status

    run(test)


def test_tls_before_1_2_is_refused(certificate) -> None:
    assert tls_context(certificate, None).minimum_version >= ssl.TLSVersion.TLSv1_2
