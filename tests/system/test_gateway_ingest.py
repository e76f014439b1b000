"""Gateways, ingest server and a real broker: the topic holds what was acknowledged, under
every kind of failure.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import polars as pl
import pytest
from confluent_kafka import Consumer, TopicPartition

from gateway_traffic import traces
from gateway_traffic.client.ledger import Summary
from gateway_traffic.client.send import SendOptions, send
from gateway_traffic.client.session import ClientProtocol, Patience
from gateway_traffic.codecs import decode
from gateway_traffic.ingest.forwarder import make_topics
from gateway_traffic.records import (
    ENCODINGS,
    SCHEMA_HEADER,
    Encoding,
    Record,
    Serialisation,
    Version,
    topic_of,
)
from streambed.artifacts.one_shot import free_ports
from streambed.record import wait_until
from tests.support.lone_broker import LoneBroker, lone_broker

pytestmark = [pytest.mark.system, pytest.mark.together(40)]
ROWS = 120


@pytest.fixture(scope="module")
def broker(tmp_path_factory) -> Iterator[LoneBroker]:
    with lone_broker(tmp_path_factory.mktemp("broker") / "kafka") as running:
        yield running


@pytest.fixture(scope="module")
def trace(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("trace") / "trace.parquet"
    homes = traces.Homes(gateways=12, days=0.2, duplicates=0.05)
    traces.write(traces.generate(homes), path, homes)
    return path


@contextmanager
def ingest(
    broker: LoneBroker, prefix: str, *, port: int = 0, options: tuple[str, ...] = ()
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server with separate topics; its process and address."""
    make_topics(
        broker.bootstrap,
        [topic_of(version, prefix) for version in Version],
        partitions=2,
        replicas=1,
        within_s=30,
    )
    command = [
        sys.executable,
        "-m",
        "gateway_traffic",
        "serve",
        "--bootstrap",
        broker.bootstrap,
        "--prefix",
        prefix,
        "--port",
        str(port),
    ]
    server = subprocess.Popen([*command, *options], stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout
        yield server, server.stdout.readline().split()[-1]
    finally:
        server.terminate()
        server.wait(timeout=30)
        server.stdout.close()


def sent(
    trace: Path,
    url: str,
    ledger: Path,
    *,
    protocol: ClientProtocol,
    version: Version = Version.COUNTER,
    encoding: Encoding = ENCODINGS["avro.2"],
    **asked,
) -> Summary:
    quick = Patience(backoff_max_s=0.5, answer_s=10.0, record_s=60.0)
    wanted = {"records": ROWS, "speed_up": 0.0, "patience": quick} | asked
    return asyncio.run(
        send(
            SendOptions(
                trace=trace,
                url=url,
                version=version,
                encoding=encoding,
                protocol=protocol,
                ledger=ledger,
                **wanted,
            )
        )
    )


def records_in(broker: LoneBroker, topic: str) -> Counter[tuple[str, Record]]:
    """Every record of a topic with its encoding, and how often it is there."""
    settings = {
        "bootstrap.servers": broker.bootstrap,
        "group.id": "reader",
        "enable.auto.commit": False,
        "enable.partition.eof": False,
    }
    found: Counter[tuple[str, Record]] = Counter()
    reader = Consumer(settings)
    try:
        parts = [TopicPartition(topic, number, 0) for number in (0, 1)]
        wanted = sum(reader.get_watermark_offsets(part, timeout=20)[1] for part in parts)
        reader.assign(parts)
        for message in reader.consume(wanted, timeout=20) if wanted else []:
            encoding = ENCODINGS[dict(message.headers())[SCHEMA_HEADER].decode()]
            record = decode(message.value(), encoding)
            assert message.key().decode() == record.gateway_id
            found[encoding.name, record] += 1
        assert found.total() == wanted
    finally:
        reader.close()
    return found


def acked(ledger: Path) -> Counter[tuple[str, int]]:
    rows = pl.read_parquet(ledger).filter(pl.col("acked").is_not_null())
    return Counter(rows.select("gateway_id", "date").iter_rows())


def identities(found: Counter[tuple[str, Record]]) -> Counter[tuple[str, int]]:
    counted: Counter[tuple[str, int]] = Counter()
    for (_, record), count in found.items():
        counted[record.gateway_id, record.date] += count
    return counted


def test_every_combination_leaves_in_the_topic_exactly_what_was_acked(broker, trace, tmp_path):
    with ingest(broker, "combinations") as (_, url):
        told: dict[Version, Counter[tuple[str, int]]] = {version: Counter() for version in Version}
        for version in Version:
            for encoding in (
                Encoding(Serialisation.JSON),
                Encoding(Serialisation.AVRO),
                Encoding(Serialisation.AVRO, 1),
            ):
                for protocol in ClientProtocol:
                    summary = sent(
                        trace,
                        url,
                        tmp_path / "ledger",
                        protocol=protocol,
                        version=version,
                        encoding=encoding,
                    )
                    assert (summary.acked, summary.attempts) == (ROWS, ROWS)
                    told[version] += acked(tmp_path / "ledger")
    for version in Version:
        found = records_in(broker, topic_of(version, "combinations"))
        assert identities(found) == told[version]
        assert {encoding for encoding, _ in found} == {"json.2", "avro.2", "avro.1"}
        truth = traces.records_of(traces.read(trace), version).head(ROWS)
        assert {record for encoding, record in found if encoding != "avro.1"} == set(
            map(Record._make, truth.select(Record._fields).iter_rows())
        )


@pytest.mark.parametrize("protocol", [ClientProtocol.KEEP_ALIVE, ClientProtocol.WEBSOCKET])
def test_while_kafka_stands_still_clients_wait_and_nothing_acked_is_lost(
    broker, trace, tmp_path, protocol
):
    with ingest(
        broker, f"paused-{protocol}", options=("--outstanding", "40", "--hold-s", "0.5")
    ) as (_, url):
        broker.pause()
        resuming = threading.Timer(7.0, broker.resume)
        resuming.start()
        try:
            unwell: list[bool] = []
            watching = threading.Thread(
                target=lambda: unwell.append(wait_until(lambda: health(url) == 503, limit_s=20))
            )
            watching.start()
            summary = sent(trace, url, tmp_path / "ledger", protocol=protocol, records=600)
            watching.join()
        finally:
            resuming.join()
        assert unwell == [True]
        assert summary.acked == 600
        assert summary.max_ms > 4000, "clients were held back"
        if protocol is ClientProtocol.KEEP_ALIVE:
            assert summary.attempts > 600, "503s were answered by coming again"
        assert health(url) == 200
    found = identities(records_in(broker, topic_of(Version.COUNTER, f"paused-{protocol}")))
    told = acked(tmp_path / "ledger")
    assert [record for record in told if found[record] < told[record]] == []


@pytest.mark.parametrize("protocol", [ClientProtocol.PER_CONNECTION, ClientProtocol.WEBSOCKET])
def test_a_server_that_is_stopped_under_load_loses_nothing_acked(broker, trace, tmp_path, protocol):
    (port,) = free_ports(1)
    prefix = f"stopped-{protocol}"
    statuses: list[int] = []
    with ExitStack() as servers:
        first, url = servers.enter_context(ingest(broker, prefix, port=port))

        def replace() -> None:
            first.send_signal(signal.SIGTERM)
            statuses.append(first.wait(timeout=30))
            servers.enter_context(ingest(broker, prefix, port=port))

        replacing = threading.Timer(1.0, replace)
        replacing.start()
        summary = sent(trace, url, tmp_path / "ledger", protocol=protocol, records=2000, rate=800.0)
        replacing.join()
    assert statuses == [0]
    assert summary.acked == 2000
    found = identities(records_in(broker, topic_of(Version.COUNTER, prefix)))
    told = acked(tmp_path / "ledger")
    assert [record for record in told if found[record] < told[record]] == []


def test_hostile_clients_do_not_disturb_the_others(broker, trace, tmp_path):
    with ingest(broker, "hostile", options=("--first-record-s", "1")) as (server, url):
        port = int(url.rpartition(":")[2])
        crowd = [socket.create_connection(("127.0.0.1", port)) for _ in range(300)]
        for number, hostile in enumerate(crowd):
            hostile.sendall((b"", b"POST /v1/counter HTTP/1.1\r\nX: ", b"\x00" * 5000)[number % 3])
        summary = sent(
            trace, url, tmp_path / "ledger", protocol=ClientProtocol.WEBSOCKET, records=2000
        )
        assert (summary.acked, summary.attempts) == (2000, 2000)
        open_files = Path(f"/proc/{server.pid}/fd")
        assert wait_until(lambda: len(os.listdir(open_files)) < 100, limit_s=60), "they are cut off"
        for hostile in crowd:
            hostile.close()


def health(url: str) -> int:
    try:
        with urllib.request.urlopen(f"{url}/health", timeout=5) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        error.close()
        return error.code
