"""The job: ships by minute, destination and kind, into PostgreSQL and a topic."""

from __future__ import annotations

from dead_letters import accepted, dead_letters
from pyspark.sql import DataFrame, SparkSession
from streams import parameters, records_from, start, to_topic
from tables import upsert
from transforms import count_records, judged_reports, ships_by_destination, voyages_of


def main() -> None:
    """Write the counts that changed in each batch, and letters about what could not be used."""
    options = parameters("Count ships by destination.", "dead_letters", "store")
    spark = SparkSession.builder.appName("monitor").getOrCreate()
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    kafka = {"bootstrap": options.bootstrap}
    reports = records_from(spark, topic=options.reads, **kafka).transform(judged_reports)
    counts = accepted(reports).transform(voyages_of).transform(ships_by_destination)

    # A batch that is done again after a failure writes the same rows again: nothing changes.
    def write(changed: DataFrame, _: int) -> None:
        changed.persist()
        upsert(
            changed, options.store, "ships_by_destination", key=("minute", "destination", "kind")
        )
        records = changed.transform(count_records).write.format("kafka")
        records.option("kafka.bootstrap.servers", options.bootstrap).option(
            "topic", options.writes
        ).save()
        changed.unpersist()

    writers = {
        options.writes: counts.writeStream.foreachBatch(write).outputMode("update"),
        options.dead_letters: to_topic(dead_letters(reports), topic=options.dead_letters, **kafka),
    }
    for topic, writer in writers.items():
        checkpoint = f"{options.checkpoint}/{topic}"
        start(writer.queryName(topic), checkpoint=checkpoint, trigger=options.trigger)
    spark.streams.awaitAnyTermination()


if __name__ == "__main__":
    main()
