"""What the job computes, DataFrame to DataFrame: the same for a batch and for a stream."""

from __future__ import annotations

from city import LATITUDES, LONGITUDES
from dead_letters import first_broken
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

RIDE = {
    "ride_id": "long",
    "event": "string",
    "end_time": "timestamp",
    "start_time": "timestamp",
    "start_lon": "double",
    "start_lat": "double",
    "end_lon": "double",
    "end_lat": "double",
    "passengers": "int",
    "taxi_id": "long",
    "driver_id": "long",
}
FARE = {
    "ride_id": "long",
    "taxi_id": "long",
    "driver_id": "long",
    "start_time": "timestamp",
    "payment": "string",
    "tip": "decimal(10,2)",
    "tolls": "decimal(10,2)",
    "total": "decimal(10,2)",
}
CSV = {"columnNameOfCorruptRecord": "broken", "quote": ""}
"""`broken` holds a row that has a wrong number of fields or one that cannot be read."""
NEIGHBOURHOOD = "name string, polygon array<array<double>>"
PLACE = ["topic", "partition", "offset", "value"]
"""Where a record came from and what it was: a dead letter needs both."""
TARDY = "15 minutes"
"""A record that took longer to arrive is late."""
WATERMARK = "30 minutes"
"""Longer than `TARDY`, so that a record that is not late is never dropped."""
LONGEST_RIDE = "2 hours"
HIGHEST_AMOUNT = 10_000


def judged_rides(records: DataFrame) -> DataFrame:
    """Kafka's records as rides, with the reason why a ride cannot be used."""
    rides = records.transform(lambda them: rows_of(them, RIDE))
    ended = F.col("event") == "END"
    time = F.when(ended, F.col("end_time")).otherwise(F.col("start_time"))
    duration = F.col("end_time") - F.col("start_time")
    possible = (duration > span("0 seconds")) & (duration <= span(LONGEST_RIDE))
    rules = {
        **row_rules(RIDE),
        "neither START nor END": ~F.col("event").isin("START", "END"),
        **arrival_rules(time),
        "outside the city": ~(within_city("start") & within_city("end")),
        "impossible duration": ended & ~possible,
    }
    return rides.withColumn("reason", first_broken(rules))


def judged_fares(records: DataFrame) -> DataFrame:
    """Kafka's records as fares, with the reason why a fare cannot be used."""
    fares = records.transform(lambda them: rows_of(them, FARE))
    amounts = [F.col(name) for name in ("tip", "tolls", "total")]
    rules = {
        **row_rules(FARE),
        **arrival_rules(F.col("start_time")),
        "negative amount": F.least(*amounts) < 0,
        "impossible amount": F.greatest(*amounts) > HIGHEST_AMOUNT,
    }
    return fares.withColumn("reason", first_broken(rules))


def rows_of(records: DataFrame, schema: dict[str, str]) -> DataFrame:
    """Rows of comma-separated values; a field that cannot be read is null. Each record is parsed
    once: a filter is never pushed below explode and inline, and so never repeats what they do.
    """
    received = F.slice(F.filter("headers", lambda header: header["key"] == "received"), 1, 1)
    arrived = records.select(*PLACE, F.explode_outer(received).alias("header"))
    time = F.col("header.value").cast("string").try_cast("timestamp").alias("received")
    columns = ", ".join(f"{name} {kind}" for name, kind in schema.items())
    row = F.from_csv(F.col("value").cast("string"), f"{columns}, broken string", CSV)
    return arrived.select(*PLACE, time, F.inline_outer(F.array(row)))


def row_rules(schema: dict[str, str]) -> dict[str, Column]:
    """What any row may break, before what it means is looked at."""
    broken = F.col("broken").isNotNull()
    width = F.size(F.split(F.col("value").cast("string"), ","))
    missing = [F.col(name).isNull() for name in schema]
    return {
        "empty": F.coalesce(F.length("value"), F.lit(0)) == 0,
        "not UTF-8": ~F.is_valid_utf8(F.col("value").cast("string")),
        "wrong number of fields": broken & (width != len(schema)),
        "unreadable field": broken | F.greatest(*missing),
        "unknown time of arrival": F.col("received").isNull(),
    }


def arrival_rules(time: Column) -> dict[str, Column]:
    """A time after the arrival would move the watermark beyond all other records."""
    return {
        "in the future": time > F.col("received"),
        "late": time < F.col("received") - span(TARDY),
    }


def span(length: str) -> Column:
    """A length of time, to add to a time or to compare with."""
    return F.expr(f"interval {length}")


def within_city(end: str) -> Column:
    """Whether the start or the end of a ride is within the city's bounds."""
    east_west = F.col(f"{end}_lon").between(*LONGITUDES)
    return east_west & F.col(f"{end}_lat").between(*LATITUDES)


def judged_neighbourhoods(files: DataFrame) -> DataFrame:
    """Files of lines of JSON as neighbourhoods, with the reason why one has no inside."""
    lines = F.posexplode(F.split(F.rtrim("value", F.lit("\n")), "\n")).alias("offset", "value")
    numbered = files.select(F.lit("neighbourhoods").alias("topic"), lines)
    parsed = F.from_json("value", NEIGHBOURHOOD).alias("parsed")
    places = numbered.select("topic", F.lit(0).alias("partition"), "offset", "value", parsed)
    corners = F.col("polygon")
    rules = {
        "not a neighbourhood": F.col("name").isNull() | corners.isNull(),
        "fewer than three corners": F.size(F.array_distinct(corners)) < 3,
        "a corner is not two numbers": F.exists(corners, lambda corner: ~is_point(corner)),
    }
    named = places.select(*PLACE, "parsed.name", "parsed.polygon")
    return named.withColumn("reason", first_broken(rules))


def is_point(corner: Column) -> Column:
    """Whether a corner is two numbers."""
    numbers = F.forall(corner, lambda number: number.isNotNull() & ~F.isnan(number))
    return F.coalesce((F.size(corner) == 2) & numbers, F.lit(False))


def bordered(neighbourhoods: DataFrame) -> DataFrame:
    """Each neighbourhood with the edges of its polygon and the latitudes that it spans."""
    following = F.expr("concat(slice(polygon, 2, size(polygon) - 1), slice(polygon, 1, 1))")
    edges = F.zip_with(
        "polygon", following, lambda one, other: F.struct(one.alias("one"), other.alias("other"))
    )
    latitudes = F.transform("polygon", lambda corner: corner[1])
    return neighbourhoods.select(
        F.col("name").alias("neighbourhood"),
        edges.alias("edges"),
        F.array_min(latitudes).alias("south"),
        F.array_max(latitudes).alias("north"),
    )


def ends_of_rides(rides: DataFrame, neighbourhoods: DataFrame) -> DataFrame:
    """When and in which neighbourhood rides ended; Other if in none."""
    near = F.col("end_lat").between(F.col("south"), F.col("north"))
    there = near & inside(F.col("end_lon"), F.col("end_lat"), F.col("edges"))
    ended = rides.where(F.col("event") == "END")
    located = ended.join(F.broadcast(bordered(neighbourhoods)), there, "left")
    name = F.coalesce("neighbourhood", F.lit("Other")).alias("neighbourhood")
    return located.select("ride_id", "end_time", name)


def inside(longitude: Column, latitude: Column, edges: Column) -> Column:
    """Whether a ray from the point to the east crosses an odd number of edges."""

    def crossed(edge: Column) -> Column:
        (x1, y1), (x2, y2) = ((edge[end][0], edge[end][1]) for end in ("one", "other"))
        spans = (y1 > latitude) != (y2 > latitude)
        crossing = x1 + F.try_divide((latitude - y1) * (x2 - x1), y2 - y1)
        return spans & (longitude < crossing)

    return F.size(F.filter(edges, crossed)) % 2 == 1


def tips_of_fares(fares: DataFrame) -> DataFrame:
    """The tip of each ride, and when the ride began."""
    return fares.select("ride_id", "start_time", "tip")


def rides_with_tips(ends: DataFrame, tips: DataFrame) -> DataFrame:
    """Each ride that ended, with its tip. A report that came twice counts once; state is dropped
    when no partner can come any more.
    """
    rides = ends.withWatermark("end_time", WATERMARK).dropDuplicates(["ride_id", "end_time"])
    paid = tips.withWatermark("start_time", WATERMARK).dropDuplicates(["ride_id", "start_time"])
    began, ended = F.col("paid.start_time"), F.col("ride.end_time")
    same_ride = F.col("ride.ride_id") == F.col("paid.ride_id")
    in_time = (ended > began) & (ended <= began + span(LONGEST_RIDE))
    joined = rides.alias("ride").join(paid.alias("paid"), same_ride & in_time)
    return joined.select("ride.end_time", "ride.neighbourhood", "paid.tip")


def average_tips(rides: DataFrame) -> DataFrame:
    """The average tip of the rides that ended in each neighbourhood, for each half hour, every ten
    minutes.
    """
    half_hour = F.window("end_time", "30 minutes", "10 minutes").alias("half_hour")
    totals = (F.count("*").alias("rides"), F.sum("tip").alias("tips"), F.avg("tip").alias("tip"))
    averages = rides.groupBy(half_hour, "neighbourhood").agg(*totals)
    return averages.select("half_hour.start", "neighbourhood", "rides", "tips", "tip")


def average_records(averages: DataFrame) -> DataFrame:
    """Averages as Kafka's records, keyed by half hour and neighbourhood."""
    start = F.date_format("start", "yyyy-MM-dd HH:mm").alias("start")
    tip = F.col("tip").cast("double").alias("tip")
    value = F.to_json(F.struct(start, "neighbourhood", "rides", "tips", tip))
    return averages.select(
        F.concat_ws("/", start, "neighbourhood").alias("key"), value.alias("value")
    )
