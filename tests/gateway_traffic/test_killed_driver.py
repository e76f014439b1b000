"""A driver that is killed goes on from its checkpoint: the store equals the exact answer."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from confluent_kafka import Producer

from gateway_traffic.answers import answer, reported_traffic
from gateway_traffic.codecs import encode
from gateway_traffic.ingest.forwarder import make_topics
from gateway_traffic.records import ENCODINGS, Record, Version
from gateway_traffic.stores.sqlite import SqliteStore
from gateway_traffic.traces import Homes, generate, records_of
from streambed import artifacts
from streambed.lone_broker import lone_broker
from streambed.record import wait_until

pytestmark = [pytest.mark.spark, pytest.mark.timeout(180)]
MAIN = Path(__file__).parents[2] / "src" / "gateway_traffic" / "__main__.py"
ENCODING = ENCODINGS["avro.2"]


def produce(bootstrap: str, records: pl.DataFrame) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "partitioner": "murmur2_random"})
    for row in records.iter_rows():
        producer.produce("traffic-counter", encode(Record(*row), ENCODING), row[0], headers={"schema": ENCODING.name})
        producer.poll(0)
    producer.produce("traffic-counter", b"nonsense", "stranger", headers={"schema": ENCODING.name})
    assert producer.flush(30) == 0


def start_driver(folder: Path, bootstrap: str) -> subprocess.Popen[bytes]:
    """As streambed's spark_job starts a script."""
    run = folder / "run"
    (run / "gates").mkdir(parents=True, exist_ok=True)
    (run / "gates" / "servers").touch()
    words = [
        "job",
        "--bootstrap",
        bootstrap,
        "--version",
        "counter",
        "--checkpoint",
        folder / "checkpoint",
        "--store",
        folder / "traffic.db",
    ]
    order = {
        "java": artifacts.spark_command(artifacts.find_java(), pyspark_home=artifacts.find_pyspark()),
        "settings": {"spark.master": "local[2]", "spark.eventLog.dir": f"{folder}/events", "spark.ui.enabled": "false"},
        "job": str(MAIN),
        "args": [*map(str, words), "--trigger", "100 milliseconds", "--offsets-per-batch", "2000"],
    }
    driver = Path(artifacts.__file__).parent / "agents" / "spark_driver.py"
    environment = {**os.environ, "STREAMBED_RUN": str(run), "STREAMBED_PROCESS": "job"}
    with (folder / "driver.log").open("ab") as log:
        return subprocess.Popen([sys.executable, str(driver), json.dumps(order)], stdout=log, stderr=log, env=environment, cwd=folder)


def killed_when(folder: Path, bootstrap: str, store: SqliteStore, wanted: int) -> int:
    """Run the driver until the store has so many records, and kill it. How many there are."""
    driver = start_driver(folder, bootstrap)
    try:
        wait_until(lambda: driver.poll() is not None or counted(store) >= wanted, limit_s=60)
        assert driver.poll() is None, (folder / "driver.log").read_text()[-3000:]
    finally:
        driver.send_signal(signal.SIGKILL)
        driver.wait()
    return counted(store)


def counted(store: SqliteStore) -> int:
    return sum(day.records for day in store.days())


def test_the_store_equals_the_exact_answer_though_the_driver_was_killed(tmp_path):
    trace = generate(Homes(gateways=20, days=0.5))
    records = records_of(trace, Version.COUNTER).drop("due")
    with lone_broker(tmp_path / "kafka") as broker:
        make_topics(broker.bootstrap, ["traffic-counter"], partitions=2, replicas=1, within_s=30.0)
        produce(broker.bootstrap, records)
        store = SqliteStore(tmp_path / "traffic.db")
        once = len(records.unique(["gateway_id", "date"]))
        part_of_it = killed_when(tmp_path, broker.bootstrap, store, 1)
        assert killed_when(tmp_path, broker.bootstrap, store, once) == once
    exact = answer(reported_traffic(Version.COUNTER, records)).totals
    found = [total[:4] for day in store.days() for total in store.totals_of_day(day.day)]
    store.close()
    assert part_of_it < once
    assert found == list(exact.iter_rows())
