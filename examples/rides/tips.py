"""The job: the average tip by half hour and neighbourhood, from rides and fares."""

from __future__ import annotations

from pathlib import Path

from dead_letters import accepted, dead_letters
from pyspark.sql import SparkSession
from streams import parameters, records_from, start, to_topic
from transforms import (
    average_records,
    average_tips,
    ends_of_rides,
    judged_fares,
    judged_neighbourhoods,
    judged_rides,
    rides_with_tips,
    tips_of_fares,
)

MAP = Path(__file__).with_name("map").as_uri()
"""A folder with the neighbourhoods."""


def main() -> None:
    """Write averages of half hours that are over, and letters about what could not be used."""
    options = parameters("Average tips.", "fares", "dead_letters")
    spark = SparkSession.builder.appName("tips").getOrCreate()
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    kafka = {"bootstrap": options.bootstrap}
    rides = records_from(spark, topic=options.reads, headers=True, **kafka).transform(judged_rides)
    fares = records_from(spark, topic=options.fares, headers=True, **kafka).transform(judged_fares)
    places = spark.read.text(MAP, wholetext=True).transform(judged_neighbourhoods)

    ends = accepted(rides).transform(lambda usable: ends_of_rides(usable, accepted(places)))
    tips = accepted(fares).transform(tips_of_fares)
    averages = rides_with_tips(ends, tips).transform(average_tips).transform(average_records)
    # The map is read once more as a stream, so that a letter about it is written only once.
    map_once = spark.readStream.text(MAP, wholetext=True)
    letters = dead_letters(rides).union(dead_letters(fares))
    letters = letters.union(map_once.transform(judged_neighbourhoods).transform(dead_letters))

    for records, topic in ((averages, options.writes), (letters, options.dead_letters)):
        writer = to_topic(records, topic=topic, **kafka).queryName(topic)
        start(writer, checkpoint=f"{options.checkpoint}/{topic}", trigger=options.trigger)
    spark.streams.awaitAnyTermination()


if __name__ == "__main__":
    main()
