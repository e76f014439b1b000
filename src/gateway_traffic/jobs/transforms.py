"""Traffic from records, DataFrame to DataFrame, the same for a stream and for an archive.

    records ── lists by gateway and window ──┬── counter: the sum of the values
               (each record once, in order)  └── cumulative, rate: steps from record to record

Every transform returns the same columns, PARTS: what one gateway sent and received in one part of a
day, PART_MS long. A *counter* needs only the part's records; the others need the record before too,
so their window includes the previous part. The list is a set, so a repeated record is in it once:
the list that finds duplicates is also what is summed, and there is no other state. The state is
bounded: a list is dropped when the watermark has passed its window. Of two different records with
one identity, the smaller counts.

The price: a record that arrives after the watermark has passed its part is dropped. *Counter* then
lacks its bytes. *Cumulative* counts them with the next record, unless that follows a restart or
belongs to another day. *Rate* applies the next record's rate to its time. After a silence longer
than a part a gateway starts afresh: the traffic of that silence is not counted. Otherwise *counter*
and *cumulative* are exact, and *rate* is within a relative 1e-9.
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
"""Computes a struct of tx and rx from the previous record and this one."""


def parts_of(
    records: DataFrame, version: Version, *, lateness: str, once: bool = True
) -> DataFrame:
    """PARTS from records. A stream drops records that come more than `lateness` after newer ones.

    Without `once`, a repeated *counter* counts twice and no lists are kept; the other versions do
    not change.
    """
    timed = records.withColumn("time", F.timestamp_millis("date")).withWatermark("time", lateness)
    if version is Version.COUNTER and not once:
        return sums_of_counters(timed)
    return TRANSFORMS[version](timed)


def sums_of_counters(records: DataFrame) -> DataFrame:
    """The sum of the values, repeated records included."""
    sums = F.sum("ipTx").alias("tx"), F.sum("ipRx").alias("rx"), F.count("*").alias("records")
    windowed = _add_windows(records, "ipTx", "ipRx", parts=1)
    return _parts(windowed.groupBy(*WINDOW).agg(*sums).withColumn("begin", _begin()))


def traffic_from_counters(records: DataFrame) -> DataFrame:
    """The sum of the values, each record once."""
    listed = _list_records(records, "date", "ipTx", "ipRx", parts=1)
    sums = [_sum_of("listed", name).alias(to) for name, to in NAMES]
    count = F.size("listed").cast("long").alias("records")
    return _parts(listed.select("gateway_id", "begin", *sums, count))


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


def _add_windows(records: DataFrame, *columns: str | Column, parts: int) -> DataFrame:
    """The columns and `until`, the last microsecond of a window of `parts` parts; a window starts
    with each part.

    `until` is one number instead of a start and an end, because it is compared for every record.
    The watermark applies to it as well.
    """
    window = F.window("time", f"{parts * PART_MS} milliseconds", f"{PART_MS} milliseconds")
    return records.select("gateway_id", *columns, window.alias("window")).withColumn(
        "until", F.window_time("window")
    )


def _begin() -> Column:
    """The millisecond at which the last part of a window begins."""
    return F.unix_millis("until") + 1 - PART_MS


def _list_records(records: DataFrame, *fields: str, parts: int) -> DataFrame:
    """Each gateway's records of each window, by date, each once; the first field is the date."""
    # Build the struct first: Spark packs it in compiled code and finds a packed one faster.
    packed = _add_windows(records, F.struct(*fields).alias("record"), parts=parts)
    ordered = packed.groupBy(*WINDOW).agg(F.sort_array(F.collect_set("record")).alias("found"))
    first = F.filter(
        "found", lambda record, index: ~F.get("found", index - 1)["date"].eqNullSafe(record["date"])
    )
    return ordered.select("gateway_id", _begin().alias("begin"), first.alias("listed"))


def _traffic_between(records: DataFrame, traffic: Traffic) -> DataFrame:
    """The traffic of each part's records, computed from them and those of the previous part."""
    ordered = _list_records(records, "date", "ipTx", "ipRx", "restarts", parts=2)
    own = F.size(F.filter("listed", lambda record: record["date"] >= F.col("begin"))).cast("long")
    counted = ordered.select(
        "gateway_id", "begin", own.alias("records"), _steps(traffic).alias("steps")
    ).where(F.col("records") > 0)
    sums = [_sum_of("steps.traffic", to).alias(to) for _, to in NAMES]
    return _parts(counted.select("gateway_id", "begin", *sums, "records"))


def _parts(sums: DataFrame) -> DataFrame:
    """PARTS from sums and the millisecond at which each part begins."""
    day = F.floor(F.col("begin") / DAY_MS).cast("int").alias("day")
    part = (F.col("begin") % DAY_MS / PART_MS).cast("int").alias("part")
    return sums.select("gateway_id", day, part, "tx", "rx", "records")


def _steps(traffic: Traffic) -> Column:
    """The traffic of every record of the part but the gateway's first."""
    pairs = F.size("listed") - 1
    before, after = F.slice("listed", F.lit(1), pairs), F.slice("listed", F.lit(2), pairs)

    def step_between(first: Column, second: Column) -> Column:
        return F.struct(second["date"].alias("date"), traffic(first, second).alias("traffic"))

    steps = F.zip_with(before, after, step_between)
    return F.filter(steps, lambda step: step["date"] >= F.col("begin"))


def _sum_of(listed: str, name: str) -> Column:
    return F.aggregate(listed, F.lit(0.0), lambda total, each: total + each[name])


def _rises(before: Column, after: Column) -> Column:
    """The rise of each counter, by the rule in records.py for restarts and wraps."""
    rise = {
        name: (after[name] - before[name] + F.lit(MAXIMUM)) % MAXIMUM for name in ("ipTx", "ipRx")
    }
    known = (before["restarts"] != RESTARTS_UNKNOWN) & (after["restarts"] != RESTARTS_UNKNOWN)
    fell_far = [(after[name] < before[name]) & (rise[name] > MAXIMUM / 2) for name in rise]
    restarted = F.when(known, before["restarts"] != after["restarts"]).otherwise(
        fell_far[0] | fell_far[1]
    )
    traffic = [F.when(restarted, after[name]).otherwise(rise[name]) for name, _ in NAMES]
    return F.struct(traffic[0].alias("tx"), traffic[1].alias("rx"))


def _volumes(before: Column, after: Column) -> Column:
    seconds = (after["date"] - before["date"]) / 1000
    return F.struct((after["ipTx"] * seconds).alias("tx"), (after["ipRx"] * seconds).alias("rx"))
