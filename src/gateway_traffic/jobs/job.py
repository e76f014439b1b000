"""The streaming job: wiring around the transforms.

    Kafka ──┬── decoded ── readable ── parts_of ── store             (checkpoint/traffic)
            │      └── a batch with flaws, read again ── topic of dead letters   (dead_letters.py)
            └── decoded ── readable ── archive, if one is wanted      (checkpoint/archive)

After a failure, because a server is away or the driver dies, the job resumes at its checkpoint. The
unfinished batch is computed again from the same offsets and state, and the store takes it once.
Dead letters are written at least once.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from gateway_traffic.errors import ServiceError
from gateway_traffic.jobs import decoding
from gateway_traffic.jobs.anomalies import LIMIT, Model
from gateway_traffic.jobs.archive import batch_lander
from gateway_traffic.jobs.dead_letters import DeadLetters
from gateway_traffic.jobs.listening import bind_ui_to_loopback, listening_settings
from gateway_traffic.jobs.source import ONCE, JobOptions, stream_options
from gateway_traffic.jobs.transforms import parts_of
from gateway_traffic.stores.store import Anomaly, Part, TrafficStore

STATE_STORES = {
    "hdfs": "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider",
    "rocksdb": "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
}
QUERY_ID = "sql.streaming.queryId"
"""Stored in the checkpoint, so it outlives the driver."""
LISTS_IN_MEMORY = 200_000
"""Most lists that one task holds in memory in a batch."""
POLL_S = 1
Written = Callable[[int, set[int]], None]
"""Called after each batch with its number and the days that changed."""
Troubled = Callable[[str], None]
"""Called with a sentence for each failure that is retried."""
NEW_LINE = "\n"


def session(
    *,
    name: str,
    master: str = "",
    partitions: int,
    state_store: str,
    settings: dict[str, str],
    ui: bool = False,
) -> SparkSession:
    """A Spark session with the settings of the job; an existing session is reused.

    With a local master nothing of it can be reached from other machines.
    """
    needed = {
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": str(partitions),
        "spark.sql.streaming.stateStore.providerClass": STATE_STORES[state_store],
        # Otherwise more than 128 lists would be sorted on disk.
        "spark.sql.objectHashAggregate.sortBased.fallbackThreshold": str(LISTS_IN_MEMORY),
        # Expired state is dropped with the next records: without any, no batch is needed.
        "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    }
    asked = needed | settings
    listening = _start_java(asked, master=master, ui=ui)
    builder = SparkSession.builder.appName(name)
    if master:
        builder = builder.master(master)
    for key, value in (listening | asked).items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def _start_java(settings: dict[str, str], *, master: str, ui: bool) -> dict[str, str]:
    """Start Java, if it does not run, and return where Spark should listen.

    Java knows what the user has configured by files and variables. It must get the settings when it
    starts: some, such as its memory and further jars, have no effect later.
    """
    if ui:
        bind_ui_to_loopback(master)
    conf = SparkConf(loadDefaults=False)
    for key, value in settings.items():
        conf.set(key, value)
    if master:
        conf.setMaster(master)
    SparkContext._ensure_initialized(conf=conf)
    return listening_settings(SparkConf(), master=master, ui=ui)


def start(
    spark: SparkSession,
    job: JobOptions,
    store: TrafficStore,
    written: Written,
    model: Model | None = None,
) -> list[StreamingQuery]:
    """Start the queries and return them, the one of the traffic first."""
    rows = decoding.decode_rows(
        spark.readStream.format("kafka").options(**stream_options(job)).load(),
        job.version,
        job.encodings,
    )
    records = decoding.readable(decoding.count_flaws(rows))
    parts = parts_of(records, job.version, lateness=job.lateness, once=job.once)
    if model:
        parts = parts.withColumn("score", model.score())
    into_store = (
        parts.writeStream.outputMode("update")
        .foreachBatch(batch_writer(store, written))
        .queryName(_name(job))
    )
    queries = [_configure(into_store, job, "traffic").start()]
    if job.archive:
        landing = records.writeStream.foreachBatch(batch_lander(Path(job.archive))).queryName(
            f"{job.version}-archive"
        )
        queries.append(_configure(landing, job, "archive").start())
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
    """Run until all is done, if the trigger is `once`; otherwise forever.

    After a failure the job restarts at its checkpoint, until it has failed for `patience_s` without
    one more batch in the store.
    """
    letters = DeadLetters(spark, job, query=_name(job))
    spark.streams.addListener(letters)
    patience = Patience(patience_s, troubled)

    def progressed(number: int, days: set[int]) -> None:
        patience.restore()
        written(number, days)

    finished = False
    try:
        while not finished:
            queries = start(spark, job, store, progressed, model)
            finished = _run_to_end(queries, letters, patience, may_end=job.trigger == ONCE)
        letters.save_position()
    finally:
        spark.streams.removeListener(letters)


class Patience:
    """Decides how long failures are retried."""

    def __init__(self, limit_s: float, troubled: Troubled) -> None:
        self._limit_s = limit_s
        self._troubled = troubled
        self._failing_since = 0.0

    def restore(self) -> None:
        """A batch was written: forget earlier failures."""
        self._failing_since = 0.0

    def retry_or_raise(self, error: Exception) -> None:
        """Wait a moment, or raise if the time is up. The first failure is always retried.

        Spark 4.1's Kafka source fails once after the first batch of a restart, if that batch had
        been started before.
        """
        now = time.monotonic()
        if self._failing_since and now > self._failing_since + self._limit_s:
            raise ServiceError(
                f"the job has failed for {self._limit_s:.0f} s; a restart continues at its "
                f"checkpoint. The last error: {str(error)[:2000]}"
            ) from error
        self._failing_since = self._failing_since or now
        self._troubled(
            "started again at its checkpoint, because it failed: "
            f"{str(error).strip().partition(NEW_LINE)[0]}"
        )
        threading.Event().wait(POLL_S)


def batch_writer(store: TrafficStore, written: Written) -> Callable[[DataFrame, int], None]:
    """A function for `foreachBatch` that writes PARTS, and anomalies if there is a score, once."""

    def write(batch: DataFrame, number: int) -> None:
        query = str(batch.sparkSession.sparkContext.getLocalProperty(QUERY_ID))
        rows = batch.collect()
        parts = [Part(*row[: len(Part._fields)]) for row in rows]
        anomalies = []
        if "score" in batch.columns:
            anomalies = [_anomaly(row) for row in rows if row["score"] > LIMIT]
        store.write(query, number, parts, anomalies)
        written(number, {part.day for part in parts})

    return write


def _anomaly(row: Row) -> Anomaly:
    return Anomaly(row["gateway_id"], row["day"], row["part"], row["score"])


def _run_to_end(
    queries: list[StreamingQuery], letters: DeadLetters, patience: Patience, *, may_end: bool
) -> bool:
    """Follow the queries until they end. False: something failed and must be started again.

    Without `may_end` any end is a failure. Spark may end a query without an error, because it
    searches the text of a failure with a pattern whose stack grows with the text.
    """
    try:
        while _all_is_well(queries):
            next(query for query in queries if query.isActive).awaitTermination(POLL_S)
            letters.follow()
        if not queries[0].isActive:
            letters.finish(str(queries[0].runId))
        for query in queries:
            if error := query.exception():
                raise error
        if not may_end:
            raise PySparkException("a query has ended, and Spark does not say why")
    except PySparkException as error:
        patience.retry_or_raise(error)
        return False
    finally:
        for query in queries:
            query.stop()
    return True


def _all_is_well(queries: list[StreamingQuery]) -> bool:
    failed = any(query.exception() for query in queries)
    return not failed and any(query.isActive for query in queries)


def _name(job: JobOptions) -> str:
    return f"{job.version}-traffic"


def _configure(writer: DataStreamWriter, job: JobOptions, name: str) -> DataStreamWriter:
    """Give a query its checkpoint and its trigger."""
    writer = writer.option("checkpointLocation", f"{job.checkpoint}/{name}")
    if job.trigger == ONCE:
        return writer.trigger(availableNow=True)
    return writer.trigger(processingTime=job.trigger)
