"""What the experiments share: one broker, one warm Spark session, a fast loader, and batch times as
Spark reports them.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition
from pyspark import SparkContext
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from gateway_traffic import traces
from gateway_traffic.codecs import encode
from gateway_traffic.ingest.forwarder import make_topics
from gateway_traffic.jobs import job as jobs
from gateway_traffic.records import ENCODINGS, SCHEMA_HEADER, Record, Version
from gateway_traffic.stores.sqlite import SqliteStore
from streambed.artifacts import find_java, find_pyspark, spark_command
from streambed.artifacts.spark_archive import start_gateway
from tests.support.lone_broker import LoneBroker, lone_broker

COMMAND = [sys.executable, "-m", "gateway_traffic"]
JAVA = ("-Xmx2g", "-Xss4m", "-XX:-UsePerfData", "-XX:+UseParallelGC")
"""The full JIT compiler, unlike in a box, where programs start often and run for a short time."""
WARM, COUNTED = 2, 7
"""Batches of a query that are skipped at first, and those that count."""
LIMIT_S = 300.0
CHUNK_S = 0.01


@dataclass
class Bench:
    """The test bench of an experiment; Spark is started at its first use."""

    broker: LoneBroker
    folder: Path
    quick: bool
    stack: ExitStack
    loaded: dict[str, str] = field(default_factory=dict)
    sessions: list[SparkSession] = field(default_factory=list)
    runs: int = 0

    @property
    def spark(self) -> SparkSession:
        """One session for all points and repetitions."""
        if not self.sessions:
            self.sessions.append(
                self.stack.enter_context(spark_session(self.folder / "spark", JAVA))
            )
        return self.sessions[0]

    @property
    def counted(self) -> int:
        """How many batches of a query count."""
        return 1 if self.quick else COUNTED

    def needed(self, size: int) -> int:
        """How many records a query with batches of this size needs."""
        return size * (WARM + self.counted)

    def rounds(self, repetitions: int) -> range:
        """Numbers of the repetitions, after one that does not count (-1): a new JVM is slower."""
        return range(0 if self.quick else -1, repetitions)

    def fresh(self, name: str) -> Path:
        """A new folder."""
        self.runs += 1
        folder = self.folder / f"{name}-{self.runs}"
        folder.mkdir(parents=True)
        return folder

    def topic(self, version: Version, encoding: str, partitions: int, count: int) -> str:
        """A topic with at least this many records of a trace; loaded once."""
        name = f"{version}-{encoding}-{partitions}-{count}"
        if name not in self.loaded:
            make_topics(
                self.broker.bootstrap,
                [name, f"{name}-dead"],
                partitions=partitions,
                replicas=1,
                within_s=30.0,
            )
            feed(self.broker.bootstrap, name, payloads(version, encoding, count))
            self.loaded[name] = name
        return name


@contextmanager
def bench(folder: Path, *, quick: bool) -> Iterator[Bench]:
    """A broker and Spark; both end with the block."""
    with lone_broker(folder / "kafka", flags=["-Xmx512m"]) as broker, ExitStack() as stack:
        yield Bench(broker, folder, quick, stack)


@contextmanager
def spark_session(
    folder: Path, java_flags: Sequence[str], settings: dict[str, str] | None = None
) -> Iterator[SparkSession]:
    """Spark in a separate JVM with these flags."""
    folder.mkdir(parents=True, exist_ok=True)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    jvm = start_gateway(
        spark_command(find_java(), pyspark_home=find_pyspark(), flags=list(java_flags)), folder
    )
    try:
        own = {
            "spark.ui.enabled": "false",
            "spark.sql.warehouse.dir": f"{folder}/warehouse",
            "spark.local.dir": f"{folder}/local",
        }
        own |= {
            "spark.eventLog.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.sql.streaming.numRecentProgressUpdates": "1000",
            # Drop data that ended queries fetched and did not read: it would stay in
            # memory for five minutes.
            "spark.kafka.consumer.cache.timeout": "10s",
            "spark.kafka.consumer.cache.evictorThreadRunInterval": "5s",
            "spark.kafka.consumer.fetchedData.cache.timeout": "10s",
            "spark.kafka.consumer.fetchedData.cache.evictorThreadRunInterval": "5s",
        }
        spark = jobs.session(
            name="study",
            master="local[2]",
            partitions=2,
            state_store="hdfs",
            settings=own | (settings or {}),
        )
        spark.sparkContext.setLogLevel(
            "FATAL"
        )  # A query that fails raises; one that is stopped only logs long warnings.
        yield spark
        spark.stop()
        SparkContext._gateway.shutdown()
    finally:
        SparkContext._gateway = SparkContext._jvm = None
        for name in ("PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET"):
            os.environ.pop(name, None)
        if jvm.stdin:
            jvm.stdin.close()
        try:
            jvm.wait(30)
        except subprocess.TimeoutExpired:
            jvm.kill()


@cache
def payloads(version: Version, encoding: str, count: int) -> list[tuple[bytes, bytes]]:
    """Keys and values of a trace of 200 gateways, as gateways would send them."""
    days = count / (200 * 1440) * 1.05 + 0.02
    records = traces.records_of(traces.generate(traces.Homes(days=days)), version).head(count)
    form = ENCODINGS[encoding]
    rows = records.select(*Record._fields).iter_rows()
    return [(row[0].encode(), encode(Record._make(row), form)) for row in rows]


def feed(
    bootstrap: str,
    topic: str,
    rows: Sequence[tuple[bytes, bytes]],
    rate: Callable[[float], float] | None = None,
) -> None:
    """Put records into Kafka, as fast as possible or at a rate that changes over time (records per
    second by seconds since the start).
    """
    encoding = b"json.2" if rows[0][1][:1] == b"{" else b"avro.2"
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "linger.ms": 10,
            "queue.buffering.max.messages": 1_000_000,
            "partitioner": "murmur2_random",
        }
    )
    began, due = time.monotonic(), 0.0
    for number, (key, value) in enumerate(rows):
        while rate is not None and number >= due:
            time.sleep(CHUNK_S)
            producer.poll(0)
            due = _due(rate, time.monotonic() - began)
        while True:
            try:
                producer.produce(topic, value, key, headers=[(SCHEMA_HEADER, encoding)])
                break
            except BufferError:
                producer.poll(0.1)
    if producer.flush(60):
        raise RuntimeError("Kafka did not take all records")


def _due(rate: Callable[[float], float], elapsed_s: float, step_s: float = 0.1) -> float:
    """How many records are due by now."""
    whole = int(elapsed_s / step_s)
    return sum(rate(step * step_s) for step in range(whole)) * step_s + rate(whole * step_s) * (
        elapsed_s - whole * step_s
    )


@contextmanager
def feeding(
    bootstrap: str, topic: str, rows: Sequence[tuple[bytes, bytes]], rate: Callable[[float], float]
) -> Iterator[threading.Thread]:
    """Feed from a thread while the block runs."""
    thread = threading.Thread(target=feed, args=(bootstrap, topic, rows, rate), daemon=True)
    thread.start()
    try:
        yield thread
    finally:
        thread.join(LIMIT_S)


@dataclass(frozen=True)
class Batch:
    """One micro-batch, as Spark reports it."""

    number: int
    rows: int
    seconds: float
    """From trigger to commit: what the thesis calls batch processing time."""
    ended_s: float
    """Seconds since 1970."""


@contextmanager
def query(
    on: Bench,
    topic: str,
    version: Version,
    *,
    encoding: str = "json.2",
    shuffle: int = 2,
    spark: SparkSession | None = None,
    **options: Any,
) -> Iterator[StreamingQuery]:
    """The real job with these options, into an embedded store; stopped with the block."""
    session, folder = spark or on.spark, on.fresh("query")
    session.conf.set("spark.sql.shuffle.partitions", str(shuffle))
    store = SqliteStore(folder / "traffic.db")
    encodings = (encoding,)
    wanted = jobs.JobOptions(
        version=version,
        bootstrap=on.broker.bootstrap,
        checkpoint=f"{folder}/checkpoint",
        topic=topic,
        encodings=encodings,
        **options,
    )
    queries = jobs.start(session, wanted, store, lambda number, days: None)
    try:
        for other in queries[1:]:
            other.stop()
        yield queries[0]
    finally:
        for each in queries:
            each.stop()
        store.close()


def batches_of(query: StreamingQuery) -> list[Batch]:
    """Batches with records, in order."""
    from datetime import datetime

    batches = []
    for progress in query.recentProgress:
        seconds = progress["durationMs"].get("triggerExecution", 0) / 1000
        began_s = datetime.fromisoformat(progress["timestamp"].replace("Z", "+00:00")).timestamp()
        if progress["numInputRows"]:
            batches.append(
                Batch(progress["batchId"], progress["numInputRows"], seconds, began_s + seconds)
            )
    return batches


def batch_s(on: Bench, topic: str, version: Version, *, size: int, **options: Any) -> float:
    """The median time of COUNTED batches of `size` records that are in Kafka already, after WARM
    others.
    """
    last = WARM + on.counted
    with query(
        on, topic, version, trigger="0 seconds", offsets_per_batch=size, **options
    ) as running:
        wait(lambda: len(batches_of(running)) >= last or not running.isActive, running)
        return median(batch.seconds for batch in batches_of(running)[WARM:last])


def wait(done: Callable[[], bool], running: StreamingQuery, limit_s: float = LIMIT_S) -> None:
    """Wait for a condition; a query that failed raises."""
    end = time.monotonic() + limit_s
    while not done():
        if error := running.exception():
            raise error
        if time.monotonic() > end:
            raise TimeoutError(f"waited {limit_s:g} s for a query: {running.status}")
        time.sleep(0.05)


def warm_up(on: Bench, version: Version = Version.CUMULATIVE, encoding: str = "json.2") -> None:
    """Warm up the JIT compiler with the job before anything is measured."""
    size = 2_000 if on.quick else 6_000
    topic = on.topic(version, encoding, 2, on.needed(size))
    batch_s(on, topic, version, size=size, encoding=encoding)


def end_offsets(bootstrap: str, topic: str, partitions: int) -> int:
    """How many records a topic has, all partitions together."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "study"})
    try:
        return sum(
            consumer.get_watermark_offsets(TopicPartition(topic, part), timeout=10)[1]
            for part in range(partitions)
        )
    finally:
        consumer.close()
