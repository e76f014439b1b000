"""Write each order into a table of SQLite: appended, or once for each place in the log.

bill.py BOOTSTRAP CHECKPOINT STORE append|upsert [earliest|latest] [FAIL_ON_DATA_LOSS]
"""

from __future__ import annotations

import sqlite3
import sys

from pyspark.sql import DataFrame, SparkSession

WRITES = {
    "append": "insert into bills values (?, ?, ?)",
    "upsert": "insert into bills values (?, ?, ?) on conflict do nothing",
}


def orders(spark: SparkSession, bootstrap: str, starting: str, fails: str) -> DataFrame:
    """The place of each order in the log."""
    source = spark.readStream.format("kafka").option("kafka.bootstrap.servers", bootstrap)
    source = source.option("startingOffsets", starting).option("failOnDataLoss", fails)
    return source.option("subscribe", "orders").load().select("partition", "offset")


def main(
    bootstrap: str,
    checkpoint: str,
    store: str,
    how: str,
    starting: str = "earliest",
    fails: str = "true",
) -> None:
    """Run until stopped."""

    def write(batch: DataFrame, number: int) -> None:
        rows = [(number, row.partition, row.offset) for row in batch.collect()]
        with sqlite3.connect(store, timeout=30) as connection:  # One transaction for each batch.
            connection.executemany(WRITES[how], rows)

    spark = SparkSession.builder.getOrCreate()
    sink = orders(spark, bootstrap, starting, fails).writeStream.foreachBatch(write)
    query = sink.option("checkpointLocation", checkpoint).trigger(processingTime="500 milliseconds")
    query.start().awaitTermination()


main(*sys.argv[1:])
