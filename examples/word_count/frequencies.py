"""Job 1: how often each word has occurred in each document so far."""

from __future__ import annotations

from pyspark.sql import SparkSession
from streams import parameters, records_from
from transforms import frequency_records, lines_of, word_frequencies


def main() -> None:
    """Write the frequencies that changed in each batch."""
    options = parameters("Count words by document.")
    spark = SparkSession.builder.appName("frequencies").getOrCreate()
    records = records_from(spark, bootstrap=options.bootstrap, topic=options.reads)
    frequencies = (
        records.transform(lines_of).transform(word_frequencies).transform(frequency_records)
    )
    sink = (
        frequencies.writeStream.format("kafka")
        .option("kafka.bootstrap.servers", options.bootstrap)
        .option("topic", options.writes)
    )
    query = (
        sink.outputMode("update")
        .option("checkpointLocation", options.checkpoint)
        .trigger(processingTime=options.trigger)
        .start()
    )
    query.awaitTermination()


if __name__ == "__main__":
    main()
