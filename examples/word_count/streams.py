"""The parameters and the Kafka source that both jobs share."""

from __future__ import annotations

import argparse

from pyspark.sql import DataFrame, SparkSession


def parameters(purpose: str) -> argparse.Namespace:
    """What a job is told: where Kafka is, which topics, where to keep its progress, how often to
    run.
    """
    parser = argparse.ArgumentParser(description=purpose)
    parser.add_argument("--bootstrap", required=True, help="Kafka's bootstrap servers")
    parser.add_argument("--reads", required=True, help="the topic to read")
    parser.add_argument("--writes", required=True, help="the topic to write")
    parser.add_argument(
        "--checkpoint", required=True, help="the folder that keeps offsets and state"
    )
    parser.add_argument("--trigger", default="1 second", help="the time between two batches")
    return parser.parse_args()


def records_from(spark: SparkSession, *, bootstrap: str, topic: str) -> DataFrame:
    """Every record of a topic, from its first."""
    source = spark.readStream.format("kafka").option("kafka.bootstrap.servers", bootstrap)
    return source.option("subscribe", topic).option("startingOffsets", "earliest").load()
