"""The ingest server: acknowledges after Kafka, holds clients back, stops in order."""

from __future__ import annotations

import asyncio
import ssl

import aiohttp
import pytest

from gateway_traffic.client.session import ClientProtocol, Patience
from gateway_traffic.codecs import encode
from gateway_traffic.ingest.limits import Limits
from gateway_traffic.records import ENCODINGS
from streambed.artifacts.one_shot import free_ports
from tests.support.gateways.requests import PATH, posted, run
from tests.support.gateways.serving import (
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


def test_a_socket_gets_the_number_that_kafka_has_acknowledged():
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


def test_requests_are_refused_with_retry_after_while_too_much_waits_for_kafka():
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
