"""The streaming job: wiring around the transforms.

    Kafka ──┬── decoded ── readable ── parts_of ── store             (checkpoint/traffic)
            │      └── a batch with flaws, read again ── topic of dead letters   (dead_letters.py)
            └── decoded ── readable ── archive, if one is wanted      (checkpoint/archive)

What fails, because a server is away or the driver dies, goes on where its checkpoint stands. The
batch in hand is computed again from the same offsets and the same state, and the store takes it
once. Dead letters are written at least once.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from gateway_traffic.errors import ServiceError
from gateway_traffic.jobs import decoding
from gateway_traffic.jobs.anomalies import LIMIT, Model
from gateway_traffic.jobs.archive import batch_lander
from gateway_traffic.jobs.dead_letters import DeadLetters
from gateway_traffic.jobs.source import ONCE, JobOptions, stream_options
from gateway_traffic.jobs.transforms import parts_of
from gateway_traffic.stores.store import Anomaly, Part, TrafficStore

STATE_STORES = {
    "hdfs": "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider",
    "rocksdb": "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
}
QUERY_ID = "sql.streaming.queryId"
"""Kept in the checkpoint, so it outlives the driver."""
LISTS_IN_MEMORY = 200_000
"""Of one task and batch."""
POLL_S = 1
Written = Callable[[int, set[int]], None]
"""Called after each batch with its number and the days that changed."""
Troubled = Callable[[str], None]
"""Told of each failure that is borne."""
NEW_LINE = "\n"


def session(
    *, name: str, master: str = "", partitions: int, state_store: str, settings: dict[str, str]
) -> SparkSession:
    """Spark, as the job needs it; one that runs already is used."""
    builder = SparkSession.builder.appName(name)
    builder = builder.master(master) if master else builder
    needed = {
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": str(partitions),
        "spark.sql.streaming.stateStore.providerClass": STATE_STORES[state_store],
        # The lists of more than 128 gateways and hours would otherwise be sorted on disk.
        "spark.sql.objectHashAggregate.sortBased.fallbackThreshold": str(LISTS_IN_MEMORY),
        # What is over is forgotten with the next records: without any, no batch is needed.
        "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    }
    for key, value in (needed | settings).items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def start(
    spark: SparkSession,
    job: JobOptions,
    store: TrafficStore,
    written: Written,
    model: Model | None = None,
) -> list[StreamingQuery]:
    """Begin to read, compute and write; returns the queries, the traffic's first."""
    rows = decoding.decoded(
        spark.readStream.format("kafka").options(**stream_options(job)).load(),
        job.version,
        job.encodings,
    )
    records = decoding.readable(decoding.counted(rows))
    parts = parts_of(records, job.version, lateness=job.lateness, once=job.once)
    parts = parts.withColumn("score", model.score()) if model else parts
    into_store = (
        parts.writeStream.outputMode("update")
        .foreachBatch(batch_writer(store, written))
        .queryName(_name(job))
    )
    queries = [_triggered(into_store, job, "traffic").start()]
    if job.archive:
        landing = records.writeStream.foreachBatch(batch_lander(Path(job.archive))).queryName(
            f"{job.version}-archive"
        )
        queries.append(_triggered(landing, job, "archive").start())
    return queries


def run(
    spark: SparkSession,
    job: JobOptions,
    store: TrafficStore,
    written: Written,
    *,
    patience_s: float,
    troubled: Troubled,
    model: Model | None = None,
) -> None:
    """Until all is done, if the trigger is `once`; otherwise for ever.

    What fails is told and started again at its checkpoint, until it has failed for `patience_s`
    without one more batch in the store.
    """
    letters = DeadLetters(spark, job, query=_name(job))
    spark.streams.addListener(letters)
    patience = Patience(patience_s, troubled)

    def progressed(number: int, days: set[int]) -> None:
        patience.restore()
        written(number, days)

    try:
        while not _ended(
            start(spark, job, store, progressed, model), letters, patience, done=job.trigger == ONCE
        ):
            pass
        letters.keep()
    finally:
        spark.streams.removeListener(letters)


class Patience:
    """How long failures are borne."""

    def __init__(self, limit_s: float, troubled: Troubled) -> None:
        self._limit_s = limit_s
        self._troubled = troubled
        self._failing_since = 0.0

    def restore(self) -> None:
        """Something went well."""
        self._failing_since = 0.0

    def bear(self, error: Exception) -> None:
        """Wait a moment, or raise if it has been too long. The first failure is always borne.

        Spark 4.1's Kafka source fails once after the first batch of a new start, if that batch had
        been begun before.
        """
        now = time.monotonic()
        if self._failing_since and now > self._failing_since + self._limit_s:
            says = f"the job has failed for {self._limit_s:.0f} s; a new start goes on at its checkpoint. The last error: "
            raise ServiceError(says + str(error)[:2000]) from error
        self._failing_since = self._failing_since or now
        self._troubled(
            "started again at its checkpoint, because it failed: "
            f"{str(error).strip().partition(NEW_LINE)[0]}"
        )
        threading.Event().wait(POLL_S)


def batch_writer(store: TrafficStore, written: Written) -> Callable[[DataFrame, int], None]:
    """What is done with each batch of PARTS, with a score if there is a model: the store takes it,
    once.
    """

    def write(batch: DataFrame, number: int) -> None:
        query = str(batch.sparkSession.sparkContext.getLocalProperty(QUERY_ID))
        rows = batch.collect()
        parts = [Part(*row[: len(Part._fields)]) for row in rows]
        odd = [row for row in rows if row["score"] > LIMIT] if "score" in batch.columns else []
        store.write(
            query,
            number,
            parts,
            [Anomaly(row["gateway_id"], row["day"], row["part"], row["score"]) for row in odd],
        )
        written(number, {part.day for part in parts})

    return write


def _ended(
    queries: list[StreamingQuery], letters: DeadLetters, patience: Patience, *, done: bool
) -> bool:
    """Whether all has been done, which an end may mean if `done`; false if something failed and is
    to be started again.

    Spark may end a query without an error: it looks through the text of a failure by a pattern
    whose stack grows with the text.
    """
    try:
        while any(query.isActive for query in queries) and not any(
            query.exception() for query in queries
        ):
            next(query for query in queries if query.isActive).awaitTermination(POLL_S)
            letters.follow()
        if not queries[0].isActive:
            letters.finish(str(queries[0].runId))
        for failed in [error for query in queries if (error := query.exception())]:
            raise failed
        if not done:
            raise PySparkException("a query has ended, and Spark does not say why")
    except PySparkException as error:
        patience.bear(error)
        return False
    finally:
        for query in queries:
            query.stop()
    return True


def _name(job: JobOptions) -> str:
    return f"{job.version}-traffic"


def _triggered(writer: DataStreamWriter, job: JobOptions, name: str) -> DataStreamWriter:
    kept = writer.option("checkpointLocation", f"{job.checkpoint}/{name}")
    return (
        kept.trigger(availableNow=True)
        if job.trigger == ONCE
        else kept.trigger(processingTime=job.trigger)
    )
