"""Traffic from records, DataFrame to DataFrame, the same for a stream and for an archive.

    records ── listed by gateway and window, each once, in order ──┬── counter: the sum of what they say
                                                                   └── cumulative, rate: differences to the record before

Every transform gives the same columns, PARTS: what one gateway sent and received in one part of a
day, PART_MS long. A *counter* needs the part's own records; the others need the record before too,
so their window reaches back over the part before. The list is a set, so a record that comes again
is not there twice: what finds duplicates is what is summed, and there is no other state. It is
bounded: a list is forgotten when the watermark has passed its window. Of two records of one
identity that differ, the smaller counts.

What that costs: a record that comes after the watermark has passed its part is dropped. *Counter*
then lacks its bytes. *Cumulative* counts them with the next record, unless that follows a restart
or belongs to another day. *Rate* takes the next record's rate for its time. A gateway that said
nothing for a whole part and more begins anew: the traffic of that silence is not counted. Otherwise
*counter* and *cumulative* are exact, and *rate* is within a relative 1e-9.
"""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from gateway_traffic.records import DAY_MS, MAXIMUM, RESTARTS_UNKNOWN, Version

PART_MS = 3_600_000
"""Divides a day. A trace's gateways are never silent for longer."""
IDENTITY = ["gateway_id", "date"]
WINDOW = ["gateway_id", "until"]
NAMES = (("ipTx", "tx"), ("ipRx", "rx"))
PARTS = "gateway_id string, day int, part int, tx double, rx double, records long"
Traffic = Callable[[Column, Column], Column]
"""From the record before and the record to a struct of tx and rx."""


def parts_of(
    records: DataFrame, version: Version, *, lateness: str, once: bool = True
) -> DataFrame:
    """PARTS from records; those that come more than `lateness` after younger ones are dropped if
    this is a stream.

    Not `once`: a *counter* that comes twice counts twice, and nothing is listed. It makes no
    difference to the others.
    """
    timed = records.withColumn("time", F.timestamp_millis("date")).withWatermark("time", lateness)
    return (
        sums_of_counters(timed)
        if version is Version.COUNTER and not once
        else TRANSFORMS[version](timed)
    )


def sums_of_counters(records: DataFrame) -> DataFrame:
    """The sum of what the records say, those that came twice included."""
    sums = F.sum("ipTx").alias("tx"), F.sum("ipRx").alias("rx"), F.count("*").alias("records")
    return _parts(
        _windowed(records, "ipTx", "ipRx", parts=1)
        .groupBy(*WINDOW)
        .agg(*sums)
        .withColumn("begin", _begin())
    )


def traffic_from_counters(records: DataFrame) -> DataFrame:
    """The sum of what the records say, each once."""
    listed = _listed(records, "date", "ipTx", "ipRx", parts=1)
    said = [_sum_of("listed", name).alias(to) for name, to in NAMES]
    return _parts(
        listed.select("gateway_id", "begin", *said, F.size("listed").cast("long").alias("records"))
    )


def traffic_from_cumulative(records: DataFrame) -> DataFrame:
    """The rise of each counter since the record before, past wraps and restarts."""
    return _traffic_between(records, _rises)


def traffic_from_rates(records: DataFrame) -> DataFrame:
    """Each mean rate times the time since the record before."""
    return _traffic_between(records, _volumes)


TRANSFORMS = {
    Version.CUMULATIVE: traffic_from_cumulative,
    Version.COUNTER: traffic_from_counters,
    Version.RATE: traffic_from_rates,
}


def _windowed(records: DataFrame, *columns: str | Column, parts: int) -> DataFrame:
    """Some columns with `until`, a window's last microsecond; a window is so many parts long, and
    one begins with each part.

    One number rather than a beginning and an end, because it is compared for every record; the
    watermark applies to it as well.
    """
    window = F.window("time", f"{parts * PART_MS} milliseconds", f"{PART_MS} milliseconds")
    return records.select("gateway_id", *columns, window.alias("window")).withColumn(
        "until", F.window_time("window")
    )


def _begin() -> Column:
    """The millisecond at which the last part of a window begins."""
    return F.unix_millis("until") + 1 - PART_MS


def _listed(records: DataFrame, *fields: str, parts: int) -> DataFrame:
    """Each gateway's records of each window, by date, each date once; the date is the first
    field.
    """
    # The struct is a column already: Spark packs it in compiled code, and a packed one is quicker
    # to find in a set.
    packed = _windowed(records, F.struct(*fields).alias("record"), parts=parts)
    ordered = packed.groupBy(*WINDOW).agg(F.sort_array(F.collect_set("record")).alias("found"))
    first = F.filter(
        "found", lambda record, place: ~F.get("found", place - 1)["date"].eqNullSafe(record["date"])
    )
    return ordered.select("gateway_id", _begin().alias("begin"), first.alias("listed"))


def _traffic_between(records: DataFrame, traffic: Traffic) -> DataFrame:
    """Each part's records and those of the part before it in order; what is counted is the traffic
    of the part's own.
    """
    ordered = _listed(records, "date", "ipTx", "ipRx", "restarts", parts=2)
    own = F.size(F.filter("listed", lambda record: record["date"] >= F.col("begin"))).cast("long")
    counted = ordered.select(
        "gateway_id", "begin", own.alias("records"), _steps(traffic).alias("steps")
    ).where(F.col("records") > 0)
    return _parts(
        counted.select(
            "gateway_id",
            "begin",
            *[_sum_of("steps.traffic", to).alias(to) for _, to in NAMES],
            "records",
        )
    )


def _parts(sums: DataFrame) -> DataFrame:
    """PARTS from sums and the millisecond at which each part begins."""
    part = (F.col("begin") % DAY_MS / PART_MS).cast("int").alias("part")
    return sums.select(
        "gateway_id",
        F.floor(F.col("begin") / DAY_MS).cast("int").alias("day"),
        part,
        "tx",
        "rx",
        "records",
    )


def _steps(traffic: Traffic) -> Column:
    """The traffic of every record of the part but the gateway's first."""
    pairs = F.size("listed") - 1
    before, after = F.slice("listed", F.lit(1), pairs), F.slice("listed", F.lit(2), pairs)
    steps = F.zip_with(
        before,
        after,
        lambda first, second: F.struct(
            second["date"].alias("date"), traffic(first, second).alias("traffic")
        ),
    )
    return F.filter(steps, lambda step: step["date"] >= F.col("begin"))


def _sum_of(listed: str, name: str) -> Column:
    return F.aggregate(listed, F.lit(0.0), lambda total, each: total + each[name])


def _rises(before: Column, after: Column) -> Column:
    """As records.py tells a restart from a wrap."""
    rise = {
        name: (after[name] - before[name] + F.lit(MAXIMUM)) % MAXIMUM for name in ("ipTx", "ipRx")
    }
    known = (before["restarts"] != RESTARTS_UNKNOWN) & (after["restarts"] != RESTARTS_UNKNOWN)
    fell_far = [(after[name] < before[name]) & (rise[name] > MAXIMUM / 2) for name in rise]
    restarted = F.when(known, before["restarts"] != after["restarts"]).otherwise(
        fell_far[0] | fell_far[1]
    )
    return F.struct(
        *[F.when(restarted, after[name]).otherwise(rise[name]).alias(to) for name, to in NAMES]
    )


def _volumes(before: Column, after: Column) -> Column:
    seconds = (after["date"] - before["date"]) / 1000
    return F.struct((after["ipTx"] * seconds).alias("tx"), (after["ipRx"] * seconds).alias("rx"))
