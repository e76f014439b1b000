"""A Spark job that copies each record with its headers, so that the consumer can identify it."""

from __future__ import annotations

import argparse

from pyspark.sql import SparkSession


def main() -> None:
    """Copy from Kafka to Kafka in micro-batches."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("--bootstrap", "--reads", "--writes", "--checkpoint"):
        parser.add_argument(name, required=True)
    options = parser.parse_args()
    spark = SparkSession.builder.appName("pass-through").getOrCreate()
    source = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", options.bootstrap)
        .option("includeHeaders", "true")
    )
    records = (
        source.option("subscribe", options.reads)
        .option("startingOffsets", "earliest")
        .load()
        .select("key", "value", "headers")
    )
    sink = (
        records.writeStream.format("kafka")
        .option("kafka.bootstrap.servers", options.bootstrap)
        .option("includeHeaders", "true")
    )
    sink.option("topic", options.writes).option(
        "checkpointLocation", options.checkpoint
    ).start().awaitTermination()


if __name__ == "__main__":
    main()
