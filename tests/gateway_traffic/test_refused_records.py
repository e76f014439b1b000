"""The ingest server refuses wrong records and closes slow or idle connections."""

from __future__ import annotations

import asyncio
import logging

import aiohttp
import pytest

from gateway_traffic.client.session import ClientProtocol
from gateway_traffic.codecs import encode
from gateway_traffic.ingest.limits import Limits
from gateway_traffic.tokens import Tokens
from tests.support.gateways.requests import HEADERS, PATH, posted, raw, run
from tests.support.gateways.serving import (
    ENCODING,
    load,
    payload,
    record,
    replayed,
    running,
)


@pytest.mark.parametrize(
    ("body", "headers", "status", "flaw"),
    [
        (b"{", HEADERS, 400, "malformed"),
        (b"[1]", HEADERS, 422, "schema"),
        (encode(record()._replace(date=5), ENCODING), HEADERS, 422, "date"),
        (encode(record()._replace(ipTx=-5.0), ENCODING), HEADERS, 422, "value"),
        (payload(), {"Content-Type": "application/json;schema=9"}, 415, "encoding"),
        (payload(), {"Content-Type": "application/avro;schema=2"}, 400, "malformed"),
        (b"x" * 5000, HEADERS, 413, "too_large"),
    ],
)
def test_a_wrong_record_is_refused_with_its_reason_and_counted(body, headers, status, flaw):
    async def test() -> None:
        async with running() as at:
            answered, _, text = await posted(at, body, headers)
            assert (answered, at.tally.rejected) == (status, {flaw: 1})
            assert flaw in text
            assert (await posted(at, payload()))[0] == 204, "others are untouched"

    run(test)


def test_a_body_of_unknown_length_is_bounded_too():
    async def test() -> None:
        async def pieces():
            for _ in range(10):
                yield b"x" * 1000

        async with running() as at:
            assert (await posted(at, pieces()))[0] == 413

    run(test)


@pytest.mark.parametrize(
    ("wrong", "code", "flaw"),
    [
        (b"{", 4400, "malformed"),
        (encode(record()._replace(date=5), ENCODING), 4422, "date"),
        (payload(3, "gw-other"), 4422, "gateway"),
        (b"x" * 5000, 1009, "too_large"),
    ],
)
def test_a_wrong_record_closes_its_own_socket_after_the_right_ones_are_acknowledged(
    wrong, code, flaw
):
    async def test() -> None:
        async with (
            running() as at,
            aiohttp.ClientSession() as session,
            session.ws_connect(f"{at.url}{PATH}/socket", protocols=["json.2"]) as other,
            session.ws_connect(f"{at.url}{PATH}/socket", protocols=["json.2"]) as socket,
        ):
            await socket.send_bytes(payload(1))
            assert await socket.receive_str() == "1"
            await socket.send_bytes(wrong)
            assert (await socket.receive()).type is aiohttp.WSMsgType.CLOSE
            await at.until(lambda: at.tally.rejected == {flaw: 1})
            assert socket.close_code == code
            await other.send_bytes(payload(1, "gw-2"))
            assert await other.receive_str() == "1"

    run(test)


@pytest.mark.parametrize("protocol", list(ClientProtocol))
def test_a_client_gives_up_only_the_record_that_is_rejected(protocol):
    async def test() -> None:
        async with running() as at:
            replay, session = replayed(at.url, protocol)
            records = load(30)
            records[7, "ipTx"] = -1.0
            await replay.run(records)
            ledger = session.ledger.frame()
            rejected = ledger.filter(ledger["acked"].is_null())
            assert (len(ledger), rejected["date"].to_list(), rejected["status"].to_list()) == (
                30,
                [records[7, "date"]],
                [422],
            )

    run(test)


def test_who_says_nothing_or_speaks_slowly_is_cut_off():
    async def test() -> None:
        async with running(limits=Limits(first_record_s=0.2, body_s=0.2, idle_s=1.0)) as at:
            content_type = f"Content-Type: {ENCODING.content_type}\r\n"
            head = (
                f"POST {PATH} HTTP/1.1\r\nHost: x\r\n{content_type}Content-Length: 90\r\n".encode()
            )
            silent, slow_head, slow_body, open_one = await asyncio.gather(
                raw(at, b""),
                raw(at, head),
                raw(at, head + b"\r\n{"),
                raw(at, b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n"),
            )
            assert (silent, slow_head) == (b"", b"")
            assert slow_body.startswith(b"HTTP/1.1 408")
            assert open_one.startswith(b"HTTP/1.1 200"), "answered, and cut off when idle"
            assert at.tally.cut_off["first_record"] >= 3
            assert at.tally.cut_off["body"] == 1

    run(test)


def test_an_idle_socket_is_closed():
    async def test() -> None:
        async with (
            running(limits=Limits(idle_s=0.2, stop_s=2.0)) as at,
            aiohttp.ClientSession() as session,
            session.ws_connect(f"{at.url}{PATH}/socket", protocols=["json.2"]) as socket,
        ):
            await socket.receive()
            assert socket.close_code == 4408

    run(test)


def test_garbage_and_too_many_connections_harm_nobody():
    async def test() -> None:
        async with running(limits=Limits(connections=5, stop_s=2.0)) as at:
            garbage = await raw(at, b"\x16\x03\x01" + b"\xff" * 300 + b"\r\n\r\n")
            assert b" 400 " in garbage.partition(b"\r\n")[0]
            await raw(at, b"GET / HTTP/1.1\r\n" + b"X: " + b"y" * 100_000, end=True)
            crowd = [await asyncio.open_connection("127.0.0.1", at.port) for _ in range(8)]
            await at.until(lambda: at.tally.cut_off["evicted"] >= 3)
            for _, writer in crowd:
                writer.close()
            await at.until(lambda: at.server._http.connections == [])
            assert (await posted(at, payload()))[0] == 204

    run(test)


def test_a_token_admits_its_own_gateway_only_and_never_reaches_a_log(caplog):
    caplog.set_level(logging.DEBUG)
    tokens = Tokens(b"a secret of many bytes")

    async def test() -> None:
        async with running(tokens=tokens) as at:
            right = HEADERS | {"Authorization": f"Bearer {tokens.of('gw-1')}"}
            assert (await posted(at, payload(), right))[0] == 204
            assert (await posted(at, payload(), HEADERS))[0] == 401
            status, _, text = await posted(at, payload(1, "gw-2"), right)
            assert status == 401 and tokens.of("gw-1") not in text
            for protocol in ClientProtocol:
                replay, session = replayed(at.url, protocol, tokens=tokens)
                await replay.run(load(6))
                assert session.ledger.frame()["acked"].null_count() == 0

    run(test)
    assert tokens.of("gw-1") not in caplog.text
    assert "secret" not in repr(tokens)
