"""The ingest server: acknowledges after Kafka, holds clients back, refuses what is wrong, cuts off
who is slow.
"""

from __future__ import annotations

import asyncio
import logging
import ssl

import aiohttp
import pytest

from gateway_traffic.client.session import ClientProtocol, Patience
from gateway_traffic.codecs import encode
from gateway_traffic.ingest.limits import Limits
from gateway_traffic.records import ENCODINGS
from gateway_traffic.tokens import Tokens
from streambed.artifacts.one_shot import free_ports
from tests.support.gateways.requests import HEADERS, PATH, posted, raw, run
from tests.support.gateways.serving import (
    ENCODING,
    load,
    payload,
    record,
    replayed,
    running,
)


def test_a_request_is_answered_when_kafka_has_acknowledged_and_not_before():
    async def test() -> None:
        async with running(held=True) as at:
            answering = asyncio.ensure_future(posted(at, payload()))
            await at.until(lambda: at.forwarder.waiting)
            await asyncio.sleep(0.05)
            assert not answering.done()
            at.forwarder.release()
            assert (await answering)[0] == 204
            assert at.forwarder.taken == [("traffic-counter", payload())]

    run(test)


def test_a_socket_is_told_how_many_kafka_has_acknowledged():
    async def test() -> None:
        async with (
            running(held=True) as at,
            aiohttp.ClientSession() as session,
            session.ws_connect(f"{at.url}{PATH}/socket", protocols=["json.2"]) as socket,
        ):
            for number in range(5):
                await socket.send_bytes(payload(number))
            await at.until(lambda: at.forwarder.outstanding == 5)
            at.forwarder.release()
            assert await socket.receive_str() == "5"
            await socket.send_str(payload(6).decode())
            assert await socket.receive_str() == "6"

    run(test)


def test_when_too_much_waits_for_kafka_requests_are_told_to_come_again():
    async def test() -> None:
        async with running(held=True, capacity=1) as at:
            first = asyncio.ensure_future(posted(at, payload(1)))
            await at.until(lambda: at.forwarder.full)
            status, headers, text = await posted(at, payload(2))
            assert (status, headers["Retry-After"]) == (503, "1")
            assert "too many records wait for Kafka" in text
            assert at.tally.refused == {"full": 1}
            at.forwarder.release()
            assert (await first)[0] == 204

    run(test)


def test_a_request_is_not_held_for_ever():
    async def test() -> None:
        async with running(held=True, limits=Limits(hold_s=0.1)) as at:
            status, headers, _ = await posted(at, payload())
            assert (status, headers["Retry-After"]) == (503, "1")

    run(test)


def test_a_socket_is_not_read_beyond_its_bound():
    async def test() -> None:
        async with running(held=True, limits=Limits(in_flight=8, stop_s=2.0)) as at:
            replay, session = replayed(at.url, ClientProtocol.WEBSOCKET)
            sending = asyncio.ensure_future(replay.run(load(100, gateways=1)))
            await at.until(lambda: at.forwarder.outstanding == 8)
            await asyncio.sleep(0.05)
            assert at.forwarder.outstanding == 8
            at.forwarder.release()
            await sending
            assert len(at.forwarder.taken) == len(session.ledger) == 100

    run(test)


def test_sockets_are_not_read_while_too_much_waits_for_kafka():
    async def test() -> None:
        async with running(held=True, capacity=10) as at:
            replay, session = replayed(at.url, ClientProtocol.WEBSOCKET)
            sending = asyncio.ensure_future(replay.run(load(300, gateways=3)))
            await at.until(lambda: at.forwarder.full)
            await asyncio.sleep(0.05)
            assert at.forwarder.outstanding <= 10 + 3, (
                "each socket may hold the one that it had read"
            )
            at.forwarder.release()
            await sending
            assert session.ledger.frame()["acked"].null_count() == 0

    run(test)


@pytest.mark.parametrize("protocol", list(ClientProtocol))
def test_what_kafka_fails_to_take_is_sent_again_and_only_then_acknowledged(protocol):
    async def test() -> None:
        async with running(held=True) as at:
            replay, session = replayed(
                at.url, protocol, patience=Patience(backoff_s=0.01, backoff_max_s=0.02)
            )
            sending = asyncio.ensure_future(replay.run(load(30)))
            await at.until(lambda: at.forwarder.waiting)
            at.forwarder.settle(error="Kafka did not take the record: timed out")
            await at.until(lambda: at.forwarder.waiting, limit_s=10)
            at.forwarder.release()
            await sending
            ledger = session.ledger.frame()
            assert len(ledger) == 30 and ledger["acked"].null_count() == 0
            assert ledger["attempts"].max() > 1
            assert len(set(at.forwarder.taken)) == 30

    run(test)


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


def test_health_and_metrics_tell_how_it_is():
    async def test() -> None:
        async with running(held=True) as at, aiohttp.ClientSession() as session:
            async with session.get(f"{at.url}/health") as well:
                assert (well.status, (await well.json())["state"]) == (200, "well")
            waiting = asyncio.ensure_future(posted(at, payload()))
            await at.until(lambda: at.forwarder.waiting)
            async with session.get(f"{at.url}/health") as unwell:
                assert (unwell.status, (await unwell.json())["says"]) == (503, "Kafka is away")
            at.forwarder.release()
            await waiting
            async with session.get(f"{at.url}/metrics") as metrics:
                text = await metrics.text()
            assert 'gateway_traffic_acked_total{encoding="json.2",version="counter"} 1.0' in text
            assert 'gateway_traffic_ack_seconds_bucket{le="+Inf"} 1.0' in text

    run(test)


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/", 404),
        ("GET", PATH, 404),
        ("PUT", PATH, 405),
        ("POST", "/v1/sum", 404),
        ("GET", f"{PATH}/socket", 415),
    ],
)
def test_other_requests_are_answered_plainly(method, path, status):
    async def test() -> None:
        async with (
            running() as at,
            aiohttp.ClientSession() as session,
            session.request(method, at.url + path) as answer,
        ):
            assert answer.status == status

    run(test)


def test_a_stopping_server_acknowledges_what_it_accepted():
    async def test() -> None:
        async with running(held=True) as at, aiohttp.ClientSession() as session:
            socket = await session.ws_connect(f"{at.url}{PATH}/socket", protocols=["json.2"])
            await socket.send_bytes(payload(1))
            answering = asyncio.ensure_future(posted(at, payload(2, "gw-2")))
            await at.until(lambda: at.forwarder.outstanding == 2)
            await asyncio.gather(at.server.stop(), _goodbye(socket))
            assert (await answering)[0] == 204
            assert len(at.forwarder.taken) == 2

    run(test)


async def _goodbye(socket: aiohttp.ClientWebSocketResponse) -> None:
    assert await socket.receive_str() == "1"
    await socket.receive()
    assert socket.close_code == 1001


def test_every_form_is_taken_by_every_way():
    async def test() -> None:
        async with running() as at:
            for encoding in ENCODINGS.values():
                assert (
                    await posted(
                        at,
                        encode(record(), encoding),
                        {"Content-Type": encoding.content_type.upper().replace(";", "; ")},
                    )
                )[0] == 204
            assert {encoding for _, encoding in at.tally.acked} == set(ENCODINGS)

    run(test)


def test_several_servers_share_a_port():
    async def test() -> None:
        async with running() as first, running() as second:
            (port,) = free_ports(1)
            for each in (first, second):
                await each.server.open("127.0.0.1", port, share_port=True)
            replay, session = replayed(f"http://127.0.0.1:{port}", ClientProtocol.PER_CONNECTION)
            await replay.run(load(100))
            assert session.ledger.frame()["acked"].null_count() == 0
            assert first.forwarder.taken and second.forwarder.taken
            assert len(first.forwarder.taken) + len(second.forwarder.taken) == 100

    run(test)


@pytest.mark.parametrize("protocol", list(ClientProtocol))
def test_records_come_by_tls_too(certificate, protocol):
    async def test() -> None:
        async with running() as at:
            context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            context.load_cert_chain(certificate)
            (port,) = free_ports(1)
            await at.server.open("127.0.0.1", port, tls=context)
            trusting, session = replayed(
                f"https://127.0.0.1:{port}", protocol, authority=certificate
            )
            await trusting.run(load(12))
            assert session.ledger.frame()["acked"].null_count() == 0
            mistrusting, session = replayed(
                f"https://127.0.0.1:{port}", protocol, patience=Patience(record_s=0.05)
            )
            await mistrusting.run(load(3))
            assert session.ledger.frame()["acked"].null_count() == 3

    run(test)
