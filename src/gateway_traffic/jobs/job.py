"""The streaming job: wiring around the transforms.

    Kafka ── decoded ──┬── readable ── parts_of ── store      (checkpoint/traffic)
                       └── letters ── topic of dead letters   (checkpoint/letters)

A driver that dies goes on where its checkpoint stands. The batch in hand is computed again from the same offsets and the same
state, and the store takes it once. Letters are written at least once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from gateway_traffic.errors import ServiceError
from gateway_traffic.jobs import decoding
from gateway_traffic.jobs.transforms import parts_of
from gateway_traffic.records import ENCODINGS, Version, topic_of
from gateway_traffic.stores.store import Part, TrafficStore

STATE_STORES = {
    "hdfs": "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider",
    "rocksdb": "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
}
QUERY_ID = "sql.streaming.queryId"
"""Kept in the checkpoint, so it outlives the driver."""
POLL_S = 1
Written = Callable[[int, set[int]], None]
"""Called after each batch with its number and the days that changed."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """What the job is to do; every field is an option of the command line."""

    version: Version
    bootstrap: str
    checkpoint: str
    topic: str = ""
    """Default: traffic-VERSION."""
    letters: str = ""
    """Topic of dead letters. Default: the topic with -dead."""
    encodings: tuple[str, ...] = tuple(ENCODINGS)
    trigger: str = "1 second"
    """Time between two batches; `once`: all that is there now, then end."""
    lateness: str = "1 day"
    once: bool = True
    """Remove duplicates."""
    offsets_per_batch: int = 0
    """The most records of a batch; 0: all that are there."""
    least_partitions: int = 0
    """Tasks that read, if more than the topic has partitions; 0: as the topic has."""
    source: dict[str, str] = field(default_factory=dict)
    """Further options of Spark's Kafka source."""

    @property
    def reads(self) -> str:
        """The topic."""
        return self.topic or topic_of(self.version)

    @property
    def buries(self) -> str:
        """The topic of dead letters."""
        return self.letters or f"{self.reads}-dead"


def session(*, name: str, master: str = "", partitions: int, state_store: str, settings: dict[str, str]) -> SparkSession:
    """Spark, as the job needs it; one that runs already is used."""
    builder = SparkSession.builder.appName(name)
    builder = builder.master(master) if master else builder
    needed = {
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": str(partitions),
        "spark.sql.streaming.stateStore.providerClass": STATE_STORES[state_store],
    }
    for key, value in (needed | settings).items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def start(spark: SparkSession, job: Job, store: TrafficStore, written: Written) -> list[StreamingQuery]:
    """Begin to read, compute and write; returns the queries, the traffic's first."""
    rows = decoding.decoded(_source(spark, job), job.version, job.encodings)
    parts = parts_of(decoding.readable(rows), job.version, lateness=job.lateness, once=job.once)
    into_store = parts.writeStream.outputMode("update").foreachBatch(batch_writer(store, written)).queryName(f"{job.version}-traffic")
    dead = decoding.letters(rows).writeStream.format("kafka").option("kafka.bootstrap.servers", job.bootstrap).option("topic", job.buries)
    return [
        _triggered(into_store, job, "traffic").start(),
        _triggered(dead.option("includeHeaders", "true").queryName(f"{job.version}-letters"), job, "letters").start(),
    ]


def batch_writer(store: TrafficStore, written: Written) -> Callable[[DataFrame, int], None]:
    """What is done with each batch of PARTS: the store takes it, once."""

    def write(batch: DataFrame, number: int) -> None:
        query = str(batch.sparkSession.sparkContext.getLocalProperty(QUERY_ID))
        parts = [Part(*row) for row in batch.collect()]
        store.write(query, number, parts)
        written(number, {part.day for part in parts})

    return write


def wait(queries: list[StreamingQuery]) -> None:
    """Until all have ended, or one has failed: then the others are stopped."""
    while any(query.isActive for query in queries) and not any(query.exception() for query in queries):
        next(query for query in queries if query.isActive).awaitTermination(POLL_S)
    failed = [error for query in queries if (error := query.exception())]
    for query in queries:
        query.stop()
    if failed:
        raise ServiceError(f"the job failed; a new start goes on at its checkpoint. Spark says: {str(failed[0])[:2000]}")


def _source(spark: SparkSession, job: Job) -> DataFrame:
    limits = {"maxOffsetsPerTrigger": job.offsets_per_batch, "minPartitions": job.least_partitions}
    options = {
        "kafka.bootstrap.servers": job.bootstrap,
        "subscribe": job.reads,
        "includeHeaders": "true",
        "startingOffsets": "earliest",
        **{name: str(limit) for name, limit in limits.items() if limit},
        **job.source,
    }
    return spark.readStream.format("kafka").options(**options).load()


def _triggered(writer: DataStreamWriter, job: Job, name: str) -> DataStreamWriter:
    kept = writer.option("checkpointLocation", f"{job.checkpoint}/{name}")
    return kept.trigger(availableNow=True) if job.trigger == "once" else kept.trigger(processingTime=job.trigger)
