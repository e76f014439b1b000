"""What the job computes, DataFrame to DataFrame: the same for a batch and for a stream."""

from __future__ import annotations

from dead_letters import first_broken
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

REPORT = (
    "type int, mmsi long, rxtime timestamp, received timestamp, shiptype int, destination string, "
    "broken string"
)
"""What is read of a report; `broken` holds it if it is no JSON or a field has a wrong type."""
KINDS = {
    "fishing": (30, 30),
    "tug": (31, 32),
    "leisure": (36, 37),
    "service": (50, 59),
    "passenger": (60, 69),
    "cargo": (70, 79),
    "tanker": (80, 89),
}
"""The first and the last ship type of each kind of ship."""
VOYAGE = 5
"""The message type that says where a ship goes."""
TARDY = "2 minutes"
"""A report that took longer to arrive is late."""
WATERMARK = "10 minutes"
"""Longer than `TARDY`, so that a report that is not late is never dropped."""


def judged_reports(records: DataFrame) -> DataFrame:
    """Kafka's records as AIS reports, with the reason why a report cannot be used."""
    text = F.col("value").cast("string")
    report = F.from_json(text, REPORT, {"columnNameOfCorruptRecord": "broken"})
    # A filter is never pushed below inline, so each record is parsed only once.
    reports = records.select(
        "topic", "partition", "offset", "value", F.inline_outer(F.array(report))
    )
    return reports.withColumn("reason", first_broken(rules()))


def rules() -> dict[str, Column]:
    """What a report may break. A time after its arrival would move the watermark beyond all other
    reports.
    """
    heard, received = F.col("rxtime"), F.col("received")
    tells_voyage = F.col("type") == VOYAGE
    return {
        "empty": F.coalesce(F.length("value"), F.lit(0)) == 0,
        "not UTF-8": ~F.is_valid_utf8(F.col("value").cast("string")),
        "unreadable": F.col("broken").isNotNull(),
        "unknown message type": outside("type", 1, 27),
        "not the number of a ship": outside("mmsi", 100_000_000, 999_999_999),
        "unknown time": heard.isNull() | received.isNull(),
        "in the future": heard > received,
        "late": heard < received - F.expr(f"interval {TARDY}"),
        "unknown ship type": tells_voyage & outside("shiptype", 0, 99),
        "impossible destination": tells_voyage & ~is_destination(F.col("destination")),
    }


def outside(field: str, first: int, last: int) -> Column:
    """Whether a number of a report is missing or not between two others."""
    number = F.col(f"{field}")
    return number.isNull() | ~number.between(first, last)


def is_destination(text: Column) -> Column:
    """Whether a sender could transmit a text: twenty characters of AIS's alphabet at most."""
    return F.coalesce((F.length(text) <= 20) & text.rlike("^[ -_]*$"), F.lit(False))


def voyages_of(reports: DataFrame) -> DataFrame:
    """Where ships go, without the padding that fills up a destination."""
    destination = F.trim(F.regexp_replace("destination", "@.*", ""))
    named = F.when(destination == "", "UNKNOWN").otherwise(destination)
    voyages = reports.where(F.col("type") == VOYAGE)
    return voyages.select(
        "rxtime", "mmsi", named.alias("destination"), kind_of_ship("shiptype").alias("kind")
    )


def kind_of_ship(ship_type: str) -> Column:
    """The kind of ship that a ship type belongs to."""
    within = [
        F.when(F.col(ship_type).between(first, last), kind) for kind, (first, last) in KINDS.items()
    ]
    return F.coalesce(*within, F.lit("other"))


def ships_by_destination(voyages: DataFrame) -> DataFrame:
    """Which ships of each kind were heard on their way to each destination in each minute. A ship
    that reports twice is one ship.
    """
    minute = F.window("rxtime", "1 minute").alias("minute")
    heard = voyages.withWatermark("rxtime", WATERMARK).groupBy(minute, "destination", "kind")
    ships = heard.agg(F.sort_array(F.collect_set("mmsi")).alias("mmsis"))
    return ships.select(
        F.col("minute.start").cast("timestamp_ntz").alias("minute"),
        "destination",
        "kind",
        F.size("mmsis").alias("ships"),
        "mmsis",
    )


def count_records(counts: DataFrame) -> DataFrame:
    """Counts as Kafka's records, keyed by what they count."""
    minute = F.date_format("minute", "yyyy-MM-dd HH:mm").alias("minute")
    value = F.to_json(F.struct(minute, "destination", "kind", "ships"))
    return counts.select(
        F.concat_ws("/", minute, "destination", "kind").alias("key"), value.alias("value")
    )
