"""Job 2: how many words a document of each topic has on average so far."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from streams import parameters, records_from, start, write_to_topic
from transforms import average_records, average_words, frequencies_of, newest_frequencies


def main() -> None:
    """Write the averages of all topics after each batch."""
    options = parameters("Average the number of words by topic.")
    spark = SparkSession.builder.appName("averages").getOrCreate()
    records = records_from(spark, bootstrap=options.bootstrap, topic=options.reads)
    newest = records.transform(frequencies_of).transform(newest_frequencies)

    # An aggregate of an aggregate cannot be streamed in one query: the state holds the newest
    # frequencies, each batch averages them all.
    def write(newest_so_far: DataFrame, _: int) -> None:
        averages = newest_so_far.transform(average_words).transform(average_records)
        write_to_topic(averages, bootstrap=options.bootstrap, topic=options.writes)

    writer = newest.writeStream.foreachBatch(write)
    query = start(writer, checkpoint=options.checkpoint, trigger=options.trigger, mode="complete")
    query.awaitTermination()


if __name__ == "__main__":
    main()
