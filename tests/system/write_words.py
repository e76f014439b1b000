"""Write every word into two tables of PostgreSQL, one appended to and one upserted."""

from __future__ import annotations

import sys

import psycopg
from pyspark.sql import DataFrame, SparkSession

APPEND = "insert into appended values (%s, %s, %s)"
UPSERT = """insert into upserted values (%s, %s, %s, %s)
on conflict (source_partition, source_offset) do nothing"""


def main(bootstrap: str, checkpoint: str, host: str) -> None:
    """Run until it is stopped."""
    spark = SparkSession.builder.getOrCreate()
    words = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("subscribe", "words")
        .option("startingOffsets", "earliest")
        .load()
        .selectExpr("partition", "offset", "cast(value as string) as value")
    )

    def write(batch: DataFrame, number: int) -> None:
        rows = [(number, row.partition, row.offset, row.value) for row in batch.collect()]
        with psycopg.connect(f"host={host} dbname=postgres user=postgres") as connection:
            cursor = connection.cursor()
            cursor.executemany(APPEND, [row[:3] for row in rows])
            cursor.executemany(UPSERT, rows)

    query = (
        words.writeStream.foreachBatch(write)
        .option("checkpointLocation", checkpoint)
        .trigger(processingTime="1 second")
        .start()
    )
    query.awaitTermination()


if __name__ == "__main__":
    main(*sys.argv[1:])
