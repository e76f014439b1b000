"""Gateways, ingest server, broker, Spark job and Cassandra, real processes that die or stand still
under load.

In every case the store equals the exact answer for what was acknowledged: nothing is
lost and nothing counts twice.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import polars as pl
import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from gateway_traffic import traces
from gateway_traffic.answers import acked, answer, reported_traffic
from gateway_traffic.errors import ServiceError
from gateway_traffic.ingest.forwarder import make_topics
from gateway_traffic.records import Version, topic_of
from gateway_traffic.stores.opening import open_store
from streambed import artifacts
from streambed.artifacts.one_shot import free_ports
from streambed.kinds.components.spark.job import DRIVER
from streambed.record import wait_until
from streambed.record.codec import write_message
from streambed.record.orders import SparkDriverOrder
from tests.support.lone_broker import LoneBroker, lone_broker
from tests.support.lone_cassandra import LoneCassandra, lone_cassandra

pytestmark = [
    pytest.mark.system,
    pytest.mark.timeout(900),
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.usefixtures("store_servers"),
]
MAIN = Path(__file__).parents[2] / "src" / "gateway_traffic" / "__main__.py"
TOPIC = "traffic-counter"
RECORDS = 3000
RATE = 100.0
LIMIT_S = 240.0


@contextmanager
def running(command: list[str], log: Path, **asked: object) -> Iterator[subprocess.Popen[bytes]]:
    """A process that is killed with the block, or before."""
    with log.open("ab") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, **asked)  # type: ignore[call-overload]
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def driver(folder: Path, bootstrap: str, store: str) -> tuple[list[str], dict[str, str]]:
    """The job, as streambed's spark_job starts a script: command and environment."""
    (folder / "run" / "gates").mkdir(parents=True, exist_ok=True)
    (folder / "run" / "gates" / "servers").touch()
    where = [
        "--bootstrap",
        bootstrap,
        "--version",
        "counter",
        "--checkpoint",
        f"{folder}/checkpoint",
        "--store",
        store,
    ]
    order = SparkDriverOrder(
        java=tuple(
            artifacts.spark_command(artifacts.find_java(), pyspark_home=artifacts.find_pyspark())
        ),
        settings={
            "spark.master": "local[2]",
            "spark.eventLog.dir": f"{folder}/events",
            "spark.ui.enabled": "false",
        },
        job=str(MAIN),
        args=(
            "job",
            *where,
            "--trigger",
            "200 milliseconds",
            "--offsets-per-batch",
            "500",
            "--archive",
            f"{folder}/archive",
        ),
    )
    write_message(folder / "order.json", order)
    return [sys.executable, str(DRIVER), str(folder / "order.json")], {
        **os.environ,
        "STREAMBED_RUN": f"{folder}/run",
        "STREAMBED_PROCESS": "job",
    }


def serve(bootstrap: str, port: int) -> list[str]:
    return [
        sys.executable,
        "-m",
        "gateway_traffic",
        "serve",
        "--bootstrap",
        bootstrap,
        "--port",
        str(port),
    ]


def counted(store: str) -> int:
    """How many records the store has; none if it cannot be asked."""
    try:
        opened = open_store(store, read_only=True)
        try:
            return sum(day.records for day in opened.days())
        finally:
            opened.close()
    except ServiceError:
        return 0


def reaches(store: str, wanted: int, *, log: Path, alive: Callable[[], bool]) -> None:
    wait_until(lambda: counted(store) >= wanted or not alive(), limit_s=LIMIT_S)
    assert counted(store) >= wanted, log.read_text()[-3000:]


def client(folder: Path, port: int) -> list[str]:
    """All of the trace by WebSocket; what is not acknowledged is sent again."""
    words = [
        "send",
        f"{folder}/trace.parquet",
        "--url",
        f"http://127.0.0.1:{port}",
        "--ledger",
        f"{folder}/ledger.parquet",
    ]
    kind = ["--version", "counter", "--serialisation", "avro", "--protocol", "websocket"]
    pace = ["--records", str(RECORDS), "--rate", str(RATE), "--patience", str(LIMIT_S)]
    return [sys.executable, "-m", "gateway_traffic", *words, *kind, *pace]


def restart_all_under_load(
    folder: Path, broker: LoneBroker, ring: LoneCassandra, store: str, port: int
) -> None:
    """Each once while records come, the next when the store has gone on since the last."""
    log, bootstrap = folder / "driver.log", broker.bootstrap
    command, environment = driver(folder, bootstrap, store)
    with ExitStack() as servers:
        first = servers.enter_context(running(serve(bootstrap, port), folder / "ingest.log"))
        with running(command, log, env=environment, cwd=folder) as job:
            assert wait_until(lambda: b"http" in (folder / "ingest.log").read_bytes(), limit_s=120)
            assert wait_until(lambda: letters_in(bootstrap) > 0, limit_s=LIMIT_S, step_s=0.5), (
                log.read_text()[-3000:]
            )
            sending = servers.enter_context(running(client(folder, port), folder / "client.log"))
            reaches(store, 1, log=log, alive=lambda: job.poll() is None)
            ring.kill()
            broker.pause()
            ring.start()
            broker.resume()
            reaches(store, counted(store) + 1, log=log, alive=lambda: job.poll() is None)
            first.kill()
            first.wait()
            servers.enter_context(running(serve(bootstrap, port), folder / "ingest.log"))
            assert sending.poll() is None, "all was sent before all had been restarted"
        with running(command, log, env=environment, cwd=folder) as job:
            assert sending.wait(LIMIT_S) == 0, (folder / "client.log").read_text()[-2000:]
            reaches(store, unique(folder), log=log, alive=lambda: job.poll() is None)


def unique(folder: Path) -> int:
    return len(
        pl.read_parquet(folder / "trace.parquet").head(RECORDS).unique(["gateway_id", "date"])
    )


def test_the_store_equals_the_exact_answer_for_acked_records_no_matter_what_dies(tmp_path):
    homes = traces.Homes(gateways=20, days=0.5, duplicates=0.05)
    traces.write(traces.generate(homes), tmp_path / "trace.parquet", homes)
    (port,) = free_ports(1)
    with lone_broker(tmp_path / "kafka") as broker, lone_cassandra(tmp_path / "cassandra") as ring:
        make_topics(
            broker.bootstrap,
            [topic_of(version) for version in Version],
            partitions=2,
            replicas=1,
            within_s=30.0,
        )
        stranger = Producer({"bootstrap.servers": broker.bootstrap})
        stranger.produce(TOPIC, b"nonsense", "stranger", headers={"schema": b"avro.2"})
        assert stranger.flush(30) == 0
        store = f"cassandra://{ring.address}/traffic"
        restart_all_under_load(tmp_path, broker, ring, store, port)
        found = totals_in(store)
        assert letters_in(broker.bootstrap) >= 1
    records = acked(
        traces.read(tmp_path / "trace.parquet"),
        pl.read_parquet(tmp_path / "ledger.parquet"),
        Version.COUNTER,
    )
    assert found == list(answer(reported_traffic(Version.COUNTER, records)).totals.iter_rows())
    archived = pl.read_parquet(f"{tmp_path}/archive/landing/*/*/*.parquet", hive_partitioning=False)
    assert set(archived.select("gateway_id", "date").iter_rows()) <= set(
        records.select("gateway_id", "date").iter_rows()
    )


def totals_in(store: str) -> list[tuple[str, int, float, float]]:
    opened = open_store(store, read_only=True)
    try:
        return [total[:4] for day in opened.days() for total in opened.totals_of_day(day.day)]
    finally:
        opened.close()


def letters_in(bootstrap: str) -> int:
    reader = Consumer({"bootstrap.servers": bootstrap, "group.id": "reader"})
    try:
        return int(reader.get_watermark_offsets(TopicPartition(f"{TOPIC}-dead", 0), timeout=20)[1])
    except KafkaException:  # The job makes the topic with its first letter.
        return 0
    finally:
        reader.close()
