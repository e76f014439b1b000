"""The exact answer for any set of records: traffic per gateway and day, per day, and the ten
busiest gateways of each day.

There are two sources. `true_traffic` takes the truth from a trace. `reported_traffic` takes a set
of records, such as those that were acknowledged, and applies the rules of their version to all of
them, sorted by date, with nothing dropped for lateness. Without loss both
agree: *counter* and *cumulative* exactly, *rate* within RATE_ERROR of the value. With loss,
*counter* lacks what the lost records said, *cumulative* lacks only what was lost just before a
restart, and *rate* takes the next record's rate for the lost time.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from gateway_traffic.records import DAY_MS, MAXIMUM, RESTARTS_UNKNOWN, Version
from gateway_traffic.traces import records_of

RATE_ERROR = 1e-9
"""Relative error of sums of rate times duration in doubles, for up to a million records in a sum.
"""
IDENTITY = ["gateway_id", "date"]
TOP = 10


@dataclass(frozen=True)
class Answer:
    """The totals of a set of records, in bytes; day is the number of days since 1970, UTC."""

    totals: pl.DataFrame
    """gateway_id, day, tx, rx: one row for each gateway and day."""
    days: pl.DataFrame
    """day, tx, rx: over all gateways; the running total of a day once all its records are in."""
    top_sent: pl.DataFrame
    """day, place, gateway_id, tx: the ten that sent most on each day; ties go by gateway_id."""
    top_received: pl.DataFrame
    """day, place, gateway_id, rx."""


def answer(traffic: pl.DataFrame) -> Answer:
    """Sum up traffic per record (gateway_id, date, tx, rx)."""
    day = (pl.col("date") // DAY_MS).cast(pl.Int32).alias("day")
    totals = (
        traffic.group_by("gateway_id", day).agg(pl.col("tx", "rx").sum()).sort("day", "gateway_id")
    )
    days = totals.group_by("day").agg(pl.col("tx", "rx").sum()).sort("day")
    return Answer(totals, days, _top(totals, "tx"), _top(totals, "rx"))


def true_traffic(trace: pl.DataFrame) -> pl.DataFrame:
    """The truth in a trace, each record once."""
    return trace.unique(IDENTITY, keep="first").select(*IDENTITY, "tx", "rx")


def reported_traffic(version: Version, records: pl.DataFrame) -> pl.DataFrame:
    """The traffic that records report, each counted once.

    The columns of records are gateway_id, date, ipTx, ipRx and restarts.
    """
    once = records.unique(IDENTITY, keep="first").sort(IDENTITY)
    return once.with_columns(_READINGS[version]).select(
        *IDENTITY, pl.col("tx", "rx").fill_null(0.0)
    )


def acked(trace: pl.DataFrame, ledger: pl.DataFrame, version: Version) -> pl.DataFrame:
    """The records of a trace that are acknowledged in a client's ledger."""
    known = ledger.filter(pl.col("acked").is_not_null()).select(IDENTITY).unique()
    return records_of(trace, version).join(known, on=IDENTITY, how="semi")


def _before(name: str) -> pl.Expr:
    return pl.col(name).shift(1).over("gateway_id")


def _rise(name: str) -> pl.Expr:
    """How much a counter rose, if it wrapped whenever it fell."""
    step = pl.col(name) - _before(name)
    return pl.when(step < 0).then(step + MAXIMUM).otherwise(step)


def _cumulative() -> list[pl.Expr]:
    known = (pl.col("restarts") != RESTARTS_UNKNOWN) & (_before("restarts") != RESTARTS_UNKNOWN)
    fell_far = pl.any_horizontal(
        (pl.col(name) < _before(name)) & (_rise(name) > MAXIMUM / 2) for name in ("ipTx", "ipRx")
    )
    restarted = pl.when(known).then(pl.col("restarts") != _before("restarts")).otherwise(fell_far)
    # The first record of a gateway has none before it: there the rise is null, and so no traffic.
    first = _before("date").is_null()
    return [
        pl.when(restarted & ~first).then(pl.col(name)).otherwise(_rise(name)).alias(as_name)
        for name, as_name in (("ipTx", "tx"), ("ipRx", "rx"))
    ]


def _rate() -> list[pl.Expr]:
    seconds = (pl.col("date") - _before("date")) / 1000
    return [(pl.col("ipTx") * seconds).alias("tx"), (pl.col("ipRx") * seconds).alias("rx")]


_READINGS = {
    Version.CUMULATIVE: _cumulative(),
    Version.COUNTER: [pl.col("ipTx").alias("tx"), pl.col("ipRx").alias("rx")],
    Version.RATE: _rate(),
}


def _top(totals: pl.DataFrame, name: str) -> pl.DataFrame:
    ordered = totals.sort(["day", name, "gateway_id"], descending=[False, True, False])
    ranked = ordered.with_columns(place=pl.int_range(1, pl.len() + 1, dtype=pl.Int32).over("day"))
    return ranked.filter(pl.col("place") <= TOP).select("day", "place", "gateway_id", name)
