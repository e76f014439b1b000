"""Traffic from records, DataFrame to DataFrame, the same for a stream and for an archive.

    records ── each_once ──┬── counter: sums per day
                           └── cumulative, rate: ordered within parts of a day, differences to the record before

Every transform gives the same columns, PARTS: what one gateway sent and received in one part of a day. A *counter* needs no order,
and its part is the whole day. The others need the record before; the part is then PART_MS long, and its window reaches back over the
part before it. So state is bounded: windows close, and identities are forgotten, when the watermark has passed.

What that costs: a record that comes after the watermark is dropped. *Counter* then lacks its bytes. *Cumulative* counts them with the
next record, unless that follows a restart or belongs to another day. *Rate* takes the next record's rate for its time.
A gateway that said nothing for a whole part and more begins anew: the traffic of that silence is not counted.
Otherwise *counter* and *cumulative* are exact, and *rate* is within a relative 1e-9.
"""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from gateway_traffic.records import DAY_MS, MAXIMUM, RESTARTS_UNKNOWN, Version

PART_MS = 3_600_000
"""Divides a day. A trace's gateways are never silent for longer."""
IDENTITY = ["gateway_id", "date"]
PARTS = "gateway_id string, day int, part int, tx double, rx double, records long"
Traffic = Callable[[Column, Column], Column]
"""From the record before and the record to a struct of tx and rx."""


def parts_of(records: DataFrame, version: Version, *, lateness: str, once: bool = True) -> DataFrame:
    """PARTS from records; those that come more than `lateness` after younger ones are dropped if this is a stream."""
    timed = records.withColumn("time", F.timestamp_millis("date")).withWatermark("time", lateness)
    return TRANSFORMS[version](each_once(timed) if once else timed)


def each_once(records: DataFrame) -> DataFrame:
    """A record is (gateway_id, date). A stream forgets which it has seen when the watermark has passed them."""
    return records.dropDuplicatesWithinWatermark(IDENTITY) if records.isStreaming else records.dropDuplicates(IDENTITY)


def traffic_from_counters(records: DataFrame) -> DataFrame:
    """The sum of what the records say, in any order."""
    sums = F.sum("ipTx").alias("tx"), F.sum("ipRx").alias("rx"), F.count("*").alias("records")
    totals = records.groupBy("gateway_id", F.window("time", "1 day")).agg(*sums)
    return totals.select("gateway_id", _day(_start_ms("window.start")).alias("day"), F.lit(0).alias("part"), "tx", "rx", "records")


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


def _traffic_between(records: DataFrame, traffic: Traffic) -> DataFrame:
    """Each part's records and those of the part before it in order; what is counted is the traffic of the part's own."""
    window = F.window("time", f"{2 * PART_MS} milliseconds", f"{PART_MS} milliseconds")
    listed = F.array_sort(F.collect_list(F.struct("date", "ipTx", "ipRx", "restarts"))).alias("listed")
    ordered = records.groupBy("gateway_id", window).agg(listed).withColumn("begin", _start_ms("window.start") + PART_MS)
    own = F.size(F.filter("listed", lambda record: record["date"] >= F.col("begin"))).cast("long")
    counted = ordered.select("gateway_id", "begin", own.alias("records"), _steps(traffic).alias("steps")).where(F.col("records") > 0)
    part = (F.col("begin") % DAY_MS / PART_MS).cast("int").alias("part")
    return counted.select("gateway_id", _day(F.col("begin")).alias("day"), part, _sum("tx"), _sum("rx"), "records")


def _steps(traffic: Traffic) -> Column:
    """The traffic of every record of the part but the gateway's first."""
    pairs = F.size("listed") - 1
    before, after = F.slice("listed", F.lit(1), pairs), F.slice("listed", F.lit(2), pairs)
    steps = F.zip_with(before, after, lambda first, second: F.struct(second["date"].alias("date"), traffic(first, second).alias("traffic")))
    return F.filter(steps, lambda step: step["date"] >= F.col("begin"))


def _sum(name: str) -> Column:
    return F.aggregate("steps", F.lit(0.0), lambda total, step: total + step["traffic"][name]).alias(name)


def _rises(before: Column, after: Column) -> Column:
    """As records.py tells a restart from a wrap."""
    rise = {name: (after[name] - before[name] + F.lit(MAXIMUM)) % MAXIMUM for name in ("ipTx", "ipRx")}
    known = (before["restarts"] != RESTARTS_UNKNOWN) & (after["restarts"] != RESTARTS_UNKNOWN)
    fell_far = [(after[name] < before[name]) & (rise[name] > MAXIMUM / 2) for name in rise]
    restarted = F.when(known, before["restarts"] != after["restarts"]).otherwise(fell_far[0] | fell_far[1])
    return F.struct(*[F.when(restarted, after[name]).otherwise(rise[name]).alias(to) for name, to in (("ipTx", "tx"), ("ipRx", "rx"))])


def _volumes(before: Column, after: Column) -> Column:
    seconds = (after["date"] - before["date"]) / 1000
    return F.struct((after["ipTx"] * seconds).alias("tx"), (after["ipRx"] * seconds).alias("rx"))


def _start_ms(name: str) -> Column:
    return F.unix_millis(F.col(name))


def _day(milliseconds: Column) -> Column:
    return F.floor(milliseconds / DAY_MS).cast("int")
