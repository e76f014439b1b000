"""Job 1: how often each word has occurred in each document so far."""

from __future__ import annotations

from pyspark.sql import SparkSession
from streams import parameters, records_from, start, to_topic
from transforms import frequency_records, lines_of, word_frequencies


def main() -> None:
    """Write the frequencies that changed in each batch."""
    options = parameters("Count words by document.")
    spark = SparkSession.builder.appName("frequencies").getOrCreate()
    records = records_from(spark, bootstrap=options.bootstrap, topic=options.reads)
    frequencies = (
        records.transform(lines_of).transform(word_frequencies).transform(frequency_records)
    )
    writer = to_topic(frequencies, bootstrap=options.bootstrap, topic=options.writes)
    query = start(writer, checkpoint=options.checkpoint, trigger=options.trigger, mode="update")
    query.awaitTermination()


if __name__ == "__main__":
    main()
