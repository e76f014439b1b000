"""The job: ships by minute, destination and kind, into PostgreSQL and a topic."""

from __future__ import annotations

from dead_letters import accepted, dead_letters
from pyspark.sql import DataFrame, SparkSession
from streams import parameters, records_from, start, to_topic, write_to_topic
from tables import upsert
from transforms import count_records, judged_reports, ships_by_destination, voyages_of

KEY = ("minute", "destination", "kind")


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
        upsert(changed, options.store, "ships_by_destination", key=KEY)
        write_to_topic(changed.transform(count_records), topic=options.writes, **kafka)
        changed.unpersist()

    ships = counts.writeStream.foreachBatch(write).queryName("ships")
    letters = to_topic(dead_letters(reports), topic=options.dead_letters, **kafka)
    progress, often = options.checkpoint, options.trigger
    start(ships, checkpoint=f"{progress}/ships", trigger=often, mode="update")
    start(letters.queryName("letters"), checkpoint=f"{progress}/letters", trigger=often)
    spark.streams.awaitAnyTermination()


if __name__ == "__main__":
    main()
