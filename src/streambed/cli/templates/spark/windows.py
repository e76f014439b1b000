"""Count records per key in windows of one second.

windows.py BOOTSTRAP READS WRITES CHECKPOINT
"""

from __future__ import annotations

import sys

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col, count, struct, to_json, window


def counts(records: DataFrame) -> DataFrame:
    """How many records each key has in each second of Kafka's timestamps."""
    return (
        records.withWatermark("timestamp", "2 seconds")
        .groupBy(window("timestamp", "1 second"), col("key").cast("string").alias("key"))
        .agg(count("*").alias("records"))
        .select("key", to_json(struct("window.start", "records")).alias("value"))
    )


def main() -> None:
    """Read one topic, write the counts that change to another, until stopped."""
    bootstrap, reads, writes, checkpoint = sys.argv[1:]
    spark = SparkSession.builder.appName("windows").getOrCreate()
    source = spark.readStream.format("kafka").option("kafka.bootstrap.servers", bootstrap)
    records = source.option("subscribe", reads).option("startingOffsets", "earliest").load()
    sink = records.transform(counts).writeStream.format("kafka").outputMode("update")
    sink = sink.option("kafka.bootstrap.servers", bootstrap).option("topic", writes)
    query = sink.option("checkpointLocation", checkpoint).trigger(processingTime="1 second").start()
    query.awaitTermination()


if __name__ == "__main__":
    main()
