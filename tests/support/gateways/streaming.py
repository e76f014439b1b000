"""A stream from files, for tests of transforms."""

from __future__ import annotations

import os
from pathlib import Path

import polars as pl
from pyspark.sql import SparkSession

from gateway_traffic.jobs.anomalies import Model
from gateway_traffic.jobs.job import batch_writer
from gateway_traffic.jobs.transforms import parts_of
from gateway_traffic.records import Version
from gateway_traffic.stores.sqlite import SqliteStore

READ = "gateway_id string, date long, ipTx double, ipRx double, restarts int"
EARLIER_S = 1_704_067_200


def streamed(
    spark: SparkSession,
    folder: Path,
    version: Version,
    records: pl.DataFrame,
    *,
    batches: int,
    lateness: str = "1 day",
    model: Model | None = None,
) -> SqliteStore:
    """A store filled by a stream of `batches` files that are read in order."""
    (folder / "records").mkdir(exist_ok=True)
    size = -(-len(records) // batches)
    for number in range(batches):
        path = folder / "records" / f"{number}.parquet"
        records.slice(number * size, size).write_parquet(path)
        os.utime(path, (EARLIER_S + number, EARLIER_S + number))  # Spark reads the oldest first.
    read = (
        spark.readStream.schema(READ)
        .option("maxFilesPerTrigger", 1)
        .parquet(str(folder / "records"))
    )
    store = SqliteStore(folder / "traffic.db")
    parts = parts_of(read, version, lateness=lateness)
    scored = parts.withColumn("score", model.score()) if model else parts
    writer = scored.writeStream.outputMode("update").foreachBatch(
        batch_writer(store, lambda number, days: None)
    )
    query = (
        writer.option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(150)
    return store


def totals_in(store: SqliteStore) -> dict[tuple[str, int], tuple[float, float]]:
    days = [day.day for day in store.days()]
    return {
        (total.gateway_id, total.day): (total.tx, total.rx)
        for day in days
        for total in store.totals_of_day(day)
    }
