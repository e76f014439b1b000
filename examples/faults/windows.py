"""Count readings in windows of five seconds of Kafka's timestamps, into a table of SQLite.

windows.py BOOTSTRAP CHECKPOINT STORE DELAY
"""

from __future__ import annotations

import sqlite3
import sys

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

PUT = "insert into totals values (?, ?) on conflict (w) do update set n = excluded.n"
bootstrap, checkpoint, store, delay = sys.argv[1:]


def totals(readings: DataFrame) -> DataFrame:
    """How many readings each window has; the watermark allows for `delay`."""
    windows = readings.withWatermark("timestamp", delay).groupBy(F.window("timestamp", "5 seconds"))
    return windows.count().select(F.unix_timestamp("window.start").alias("w"), "count")


def write(batch: DataFrame, number: int) -> None:
    """Replace the windows that changed."""
    with sqlite3.connect(store, timeout=30) as connection:
        connection.executemany(PUT, [tuple(row) for row in batch.collect()])


spark = (
    SparkSession.builder.config("spark.sql.session.timeZone", "UTC")
    .config("spark.sql.shuffle.partitions", 2)
    .getOrCreate()
)
source = spark.readStream.format("kafka").option("kafka.bootstrap.servers", bootstrap)
source = source.option("subscribe", "readings").option("startingOffsets", "earliest")
# Small batches: what is late is decided batch by batch, so not by how fast the machine is.
readings = source.option("maxOffsetsPerTrigger", 200).load()
sink = readings.transform(totals).writeStream.outputMode("update").foreachBatch(write)
sink = sink.option("checkpointLocation", checkpoint).trigger(processingTime="1 second")
sink.start().awaitTermination()
