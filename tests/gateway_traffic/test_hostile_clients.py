"""Hostile clients: what they send is not logged, what they hold makes room, and their tricks with
HTTP, WebSocket, Avro and browsers are refused.
"""

from __future__ import annotations

import asyncio
import logging
import re
import ssl
import struct

import aiohttp
import pytest

from gateway_traffic.client.websocket_channel import BINARY, CLOSE, frame
from gateway_traffic.codecs import decode, encode
from gateway_traffic.errors import RecordError
from gateway_traffic.ingest.connections import Connections, Opening, address_of
from gateway_traffic.ingest.error_log import ErrorLog
from gateway_traffic.ingest.limits import Limits
from gateway_traffic.ingest.tally import Tally
from gateway_traffic.records import ENCODINGS
from gateway_traffic.tokens import exposure_of
from streambed.artifacts.one_shot import free_ports
from tests.support.gateways.raw_sockets import HEALTH, TOKENS, close_code, socket_of
from tests.support.gateways.requests import HEADERS, PATH, posted, raw, run
from tests.support.gateways.serving import payload, record, running

TWICE = b"POST /v1/counter HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"POST /v1/counter HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %b\nX: y\r\n\r\n",
        b"POST /v1/counter HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %b\rX: y\r\n\r\n",
        b"POST /v1/counter HTTP/1.1\r\nAuthorization: Bearer %b\x00\r\n\r\n",
        b"Bearer %b\r\n\r\n",
    ],
)
def test_a_malformed_request_with_a_token_leaves_no_token_in_log_or_answer(caplog, request_bytes):
    caplog.set_level(logging.DEBUG)
    token = TOKENS.of("gw-1").encode()

    async def test() -> None:
        async with running(tokens=TOKENS) as at:
            answer = await raw(at, request_bytes % token)
            assert b" 400 " in answer.partition(b"\r\n")[0] and token not in answer
            await at.until(lambda: "malformed requests: 1 refused" in caplog.text)
            assert at.tally.cut_off["malformed"] == 1

    run(test)
    assert token.decode() not in caplog.text
    assert "Traceback" not in caplog.text


def test_a_token_that_is_not_text_is_a_wrong_token():
    async def test() -> None:
        async with running(tokens=TOKENS) as at:
            body = payload()
            head = f"POST {PATH} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
            head += f"Content-Type: {HEADERS['Content-Type']}\r\nContent-Length: {len(body)}\r\n"
            answer = await raw(at, head.encode() + b"Authorization: \xff\r\n\r\n" + body)
            assert answer.startswith(b"HTTP/1.1 401")
            reader, writer, _ = await socket_of(at, "Authorization: \xff")
            writer.write(frame(body, BINARY, b"mask"))
            assert await close_code(reader) == 4401
            assert at.tally.rejected == {"token": 2}
            writer.close()

    run(test)


def test_a_flood_of_malformed_requests_makes_a_short_log_and_is_counted(caplog):
    async def test() -> None:
        async with running() as at:
            for _ in range(20):
                await asyncio.gather(*(raw(at, TWICE) for _ in range(25)))
            await at.until(lambda: at.tally.cut_off["malformed"] == 500)
            assert b'cut_off_total{reason="malformed"} 500.0' in at.tally.text()

    run(test)
    assert len(caplog.text) < 1000


def test_a_summary_is_logged_once_a_minute_and_names_no_message(caplog):
    now = [0.0]
    errors = ErrorLog(Tally(), every_s=60.0, clock=lambda: now[0])
    for moment in (0.0, 1.0, 30.0, 61.0):
        now[0] = moment
        errors.count_malformed()
        errors.count_failure(ValueError("a secret"))
        errors.flush()

    assert re.findall(r"malformed requests: (\d)", caplog.text) == ["1", "3"]
    assert "3 by ValueError" in caplog.text and "secret" not in caplog.text


def test_honest_clients_get_in_while_others_hold_all_connections():
    async def test() -> None:
        limits = Limits(connections=6, first_record_s=60.0, stop_s=2.0)
        async with running(limits=limits) as at:
            holders = [await asyncio.open_connection("127.0.0.1", at.port) for _ in range(6)]
            for reader, writer in holders:
                writer.write(HEALTH)
                await reader.readuntil(b"\r\n\r\n")
            for number in range(10):
                assert (await posted(at, payload(number)))[0] == 204
            assert at.tally.cut_off["evicted"] >= 1
            for _, writer in holders:
                writer.close()

    run(test)


def test_a_connection_without_a_valid_record_ends_soon_however_often_it_asks():
    async def test() -> None:
        limits = Limits(first_record_s=0.3, body_s=5.0, idle_s=60.0, stop_s=2.0)
        async with running(limits=limits) as at:
            asking, writer = await asyncio.open_connection("127.0.0.1", at.port)
            silent, silent_writer, _ = await socket_of(at)
            with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
                while True:
                    writer.write(HEALTH)
                    await asking.readuntil(b"\r\n\r\n")
                    await asyncio.sleep(0.01)
            assert await close_code(silent) == 4408
            assert at.tally.cut_off["first_record"] == 2
            for each in (writer, silent_writer):
                each.close()

    run(test)


def test_a_connection_with_a_valid_record_may_wait_for_its_next_one():
    async def test() -> None:
        limits = Limits(first_record_s=0.1, body_s=0.1, idle_s=60.0, stop_s=2.0)
        async with (
            running(limits=limits) as at,
            aiohttp.ClientSession() as session,
            session.ws_connect(f"{at.url}{PATH}/socket", protocols=["json.2"]) as socket,
        ):
            await socket.send_bytes(payload(1))
            assert await socket.receive_str() == "1"
            await asyncio.sleep(1.2)
            await socket.send_bytes(payload(2))
            assert await socket.receive_str() == "2"

    run(test)


def test_a_full_address_makes_room_for_itself_only():
    table: Connections[str] = Connections(total_max=4, per_address_max=2)
    for name, address in (("a", "1"), ("b", "1"), ("c", "2")):
        assert table.open(name, address, 0.0).admitted

    assert table.open("d", "1", 1.0).evicted == "a"
    table.prove("b")
    table.prove("d")
    assert not table.open("e", "1", 2.0).admitted
    assert table.open("f", "2", 2.0) == Opening(admitted=True)


def test_a_full_table_evicts_the_oldest_newcomer_of_all():
    table: Connections[str] = Connections(total_max=2, per_address_max=2)
    table.open("a", "1", 0.0)
    table.open("b", "2", 1.0)
    assert [name for name, _ in table.opened_before(1.0)] == ["a"]
    table.prove("a")

    assert table.open("c", "3", 2.0).evicted == "b"
    table.prove("c")
    assert not table.open("d", "4", 3.0).admitted
    table.close("a")
    assert table.open("d", "4", 3.0).admitted
    assert (len(table), table.newcomers) == (2, 1)


def test_an_ipv6_network_counts_as_one_address():
    assert address_of("2001:db8::1") == address_of("2001:db8::ffff:1") == "2001:db8::/64"
    assert address_of("2001:db8:0:1::1") != address_of("2001:db8::1")
    assert address_of("::ffff:192.0.2.7") == address_of("192.0.2.7") == "192.0.2.7"


def test_a_tls_handshake_counts_from_its_beginning_and_has_a_time_limit(certificate):
    async def test() -> None:
        limits = Limits(connections=20, handshake_s=0.5, first_record_s=60.0, stop_s=2.0)
        async with running(limits=limits) as at:
            context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            context.load_cert_chain(certificate)
            (port,) = free_ports(1)
            await at.server.open("127.0.0.1", port, tls=context)
            crowd = [await asyncio.open_connection("127.0.0.1", port) for _ in range(30)]
            await at.until(lambda: at.tally.cut_off["evicted"] == 10)
            assert len(at.server._http.table) == 20
            await at.until(lambda: at.tally.cut_off["handshake"] == 30)
            assert len(at.server._http.table) == 0
            for reader, writer in crowd:
                assert await reader.read() == b""
                writer.close()

    run(test)


def test_numbers_of_avro_that_are_longer_than_needed_are_refused():
    encoding = ENCODINGS["avro.2"]
    good = encode(record(), encoding)
    assert good[-1:] == b"\x00"
    longer = [
        good[:-1] + b"\x80" * count + b"\x00" for count in (1, 4, 5, 9, 10, 30)
    ]  # Java reads up to five bytes of an int, Python any number.
    longer.append(bytes([good[0] | 0x80, 0x00]) + good[1:])
    for each in longer:
        with pytest.raises(RecordError) as refused:
            decode(each, encoding)
        assert refused.value.flaw == "malformed"

    async def test() -> None:
        async with running() as at:
            headers = {"Content-Type": encoding.content_type}
            assert [(await posted(at, each, headers))[0] for each in longer] == [400] * len(longer)
            assert (await posted(at, good, headers))[0] == 204
            assert at.forwarder.taken == [("traffic-counter", good)]

    run(test)


def unmasked(body: bytes) -> bytes:
    return bytes((0x80 | BINARY, 126)) + len(body).to_bytes(2, "big") + body


@pytest.mark.parametrize("split_at", [None, 1, 3])
def test_a_frame_without_a_mask_is_refused(split_at):
    async def test() -> None:
        async with running() as at:
            reader, writer, _ = await socket_of(at)
            writer.write(frame(payload(1), BINARY, b"mask"))
            assert (await reader.readexactly(3))[2:] == b"1"
            wrong = unmasked(payload(2).ljust(130))
            for part in (wrong[:split_at], wrong[split_at:] if split_at else b""):
                writer.write(part)
                await asyncio.sleep(0.02)
            assert await close_code(reader) == 1002
            assert at.tally.rejected == {"malformed": 1}
            assert len(at.forwarder.taken) == 1
            writer.close()

    run(test)


def test_masked_frames_may_come_in_any_pieces():
    async def test() -> None:
        async with running() as at:
            reader, writer, _ = await socket_of(at)
            bodies = [payload(number) for number in range(5)]
            stream = b"".join(frame(body.ljust(130), BINARY, b"mask") for body in bodies)
            for position in range(0, len(stream), 7):
                writer.write(stream[position : position + 7])
                await asyncio.sleep(0)
            await at.until(lambda: len(at.forwarder.taken) == 5)
            writer.write(frame((1000).to_bytes(2, "big"), CLOSE, b"mask"))
            assert struct.pack(">H", 1000) in await reader.read()
            writer.close()

    run(test)


@pytest.mark.parametrize(
    ("code", "answer"),
    [(1000, 1000), (3000, 1000), (4999, 1000)]
    + [(code, 1002) for code in (999, 1005, 1006, 1015, 5000, 65535)],
)
def test_a_close_code_that_no_client_may_send_is_a_protocol_error(code, answer):
    async def test() -> None:
        async with running() as at:
            reader, writer, _ = await socket_of(at)
            writer.write(frame(code.to_bytes(2, "big"), CLOSE, b"mask"))
            assert await close_code(reader) == answer
            writer.close()

    run(test)


@pytest.mark.parametrize(
    ("origin", "accepted"),
    [
        ("http://127.0.0.1:{port}", True),
        ("https://allowed.example", True),
        ("https://evil.example", False),
        ("http://127.0.0.1:1", False),
        ("null", False),
    ],
)
def test_a_web_page_from_elsewhere_may_not_send_records(origin, accepted):
    async def test() -> None:
        async with running(origins=("https://allowed.example",)) as at:
            named = origin.replace("{port}", str(at.port))
            status, *_ = await posted(at, payload(), HEADERS | {"Origin": named})
            assert status == (204 if accepted else 403)
            _, writer, answer = await socket_of(at, f"Origin: {named}")
            assert answer.startswith(b"HTTP/1.1 101" if accepted else b"HTTP/1.1 403")
            writer.close()

    run(test)


def test_a_rebound_name_is_not_its_own_origin():
    async def test() -> None:
        async with running() as at:
            rebound = {"Host": "evil.example", "Origin": "http://evil.example"}
            assert (await posted(at, payload(), HEADERS | rebound))[0] == 403

    run(test)


@pytest.mark.parametrize(("mode", "warned"), [(0o600, False), (0o640, True), (0o644, True)])
def test_a_secret_that_others_may_read_is_warned_about(tmp_path, mode, warned):
    secret = tmp_path / "secret"
    secret.write_bytes(b"a secret of many bytes")
    secret.chmod(mode)

    warning = exposure_of(secret)

    assert bool(warning) == warned
    assert not warned or f"chmod 600 {secret}" in warning
