"""What jobs share: their parameters, Kafka as a source and as a sink, and how a query starts."""

from __future__ import annotations

import argparse
import sys
from functools import reduce

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

RESTARTS_MAX = 3


def parameters(purpose: str, *more: str) -> argparse.Namespace:
    """Where Kafka is, which topics, where to keep progress, how often to run. `more` names further
    parameters that the job needs, such as `dead_letters`.
    """
    parser = argparse.ArgumentParser(description=purpose)
    parser.add_argument("--bootstrap", required=True, help="Kafka's bootstrap servers")
    parser.add_argument("--reads", required=True, help="the topic to read")
    parser.add_argument("--writes", required=True, help="the topic to write")
    parser.add_argument(
        "--checkpoint", required=True, help="the folder that keeps offsets and state"
    )
    parser.add_argument("--trigger", default="1 second", help="the time between two batches")
    for name in more:
        parser.add_argument(f"--{name.replace('_', '-')}", required=True)
    return parser.parse_args()


def records_from(
    spark: SparkSession, *, bootstrap: str, topic: str, headers: bool = False
) -> DataFrame:
    """Every record of a topic, from its first."""
    source = spark.readStream.format("kafka").option("kafka.bootstrap.servers", bootstrap)
    topics = source.option("subscribe", topic).option("includeHeaders", headers)
    return topics.option("startingOffsets", "earliest").load()


def to_topic(records: DataFrame, *, bootstrap: str, topic: str) -> DataStreamWriter:
    """A stream of records with key and value into a topic."""
    sink = records.writeStream.format("kafka").option("kafka.bootstrap.servers", bootstrap)
    return sink.option("topic", topic)


def write_to_topic(records: DataFrame, *, bootstrap: str, topic: str) -> None:
    """The records of one batch into a topic."""
    sink = records.write.format("kafka").option("kafka.bootstrap.servers", bootstrap)
    sink.option("topic", topic).save()


def start(
    writer: DataStreamWriter, *, checkpoint: str, trigger: str, mode: str = "append"
) -> StreamingQuery:
    """Start a query that continues where its checkpoint says."""
    query = writer.outputMode(mode).option("checkpointLocation", checkpoint)
    return query.trigger(processingTime=trigger).start()


def run(writer: DataStreamWriter, *, checkpoint: str, trigger: str, mode: str = "append") -> None:
    """Run a query until it is stopped. One that fails is started again a few times, which is sooner
    than a new driver: Spark's Kafka source may fail after the first batch that it repeats.
    """
    for _ in range(RESTARTS_MAX):
        try:
            start(writer, checkpoint=checkpoint, trigger=trigger, mode=mode).awaitTermination()
        except StreamingQueryException as error:
            sys.stderr.write(f"the query is started again, because it failed: {error}\n")
        else:
            return
    start(writer, checkpoint=checkpoint, trigger=trigger, mode=mode).awaitTermination()


def send(records: dict[str, DataFrame], *, bootstrap: str) -> None:
    """Write the records of a batch to their topics, all in one job."""
    parts = [rows.withColumn("topic", F.lit(topic)) for topic, rows in records.items()]
    sink = reduce(DataFrame.unionByName, parts).write.format("kafka")
    sink.option("kafka.bootstrap.servers", bootstrap).save()
