"""Auditing: does a store hold the exact answer for the acknowledged records, and how long did
records take to get there?

A store does not say when it took each record. A watch therefore counts its records many times a
second; the time at which it held k of them, less the time at which the k-th was due, is the latency
of the k-th. Where records overtake each other they swap latencies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from gateway_traffic import answers
from gateway_traffic.errors import UsageError
from gateway_traffic.records import Version
from gateway_traffic.stores.store import TrafficStore

COUNTS = {"time_ns": pl.Int64, "records": pl.Int64}
"""Columns of a watch's file: monotonic nanoseconds, and how many records the store held."""
DIFFERENCES_SHOWN = 3
Totals = dict[tuple[str, int], tuple[float, float]]
"""Bytes sent and received, by gateway and day."""


@dataclass(frozen=True, kw_only=True)
class Audit:
    """What was compared, and what differed."""

    acked: int
    gateways: int
    days: int
    differences: list[str]

    @property
    def says(self) -> str:
        """The result in one line."""
        days = f"{self.days} day{'' if self.days == 1 else 's'}"
        if not self.differences:
            return (
                f"the store equals the exact answer for {self.acked:,} acknowledged records: "
                f"{self.gateways:,} gateways, {days}"
            )
        shown = "; ".join(self.differences[:DIFFERENCES_SHOWN])
        return (
            f"{len(self.differences)} of the store's totals differ from the exact answer for "
            f"{self.acked:,} records: {shown}"
        )


def read_ledgers(paths: Sequence[Path]) -> pl.DataFrame:
    """The ledgers of several clients as one."""
    try:
        return pl.concat([pl.read_parquet(path) for path in paths])
    except (OSError, ValueError, pl.exceptions.PolarsError) as error:
        raise UsageError(
            f"the ledgers {', '.join(map(str, paths))} cannot be read: {error}"
        ) from None


def audit(
    trace: pl.DataFrame, ledger: pl.DataFrame, store: TrafficStore, version: Version
) -> Audit:
    """Compare the totals of every gateway and day with the exact answer.

    *Rate* is a product of doubles, so it may differ by RATE_ERROR of the value.
    """
    records = answers.acked(trace, ledger, version)
    if records.is_empty():
        raise UsageError(
            "the ledgers call no record of the trace acknowledged: there is nothing to compare"
        )
    exact = answers.answer(answers.reported_traffic(version, records)).totals
    expected = {
        (gateway_id, day): (tx, rx)
        for gateway_id, day, tx, rx in exact.select("gateway_id", "day", "tx", "rx").iter_rows()
    }
    days = {day for _, day in expected} | {total.day for total in store.days()}
    error = answers.RATE_ERROR if version is Version.RATE else 0.0
    return Audit(
        acked=records.unique(answers.IDENTITY).height,
        gateways=exact["gateway_id"].n_unique(),
        days=exact["day"].n_unique(),
        differences=_differences(_totals_in(store, sorted(days)), expected, error),
    )


def _totals_in(store: TrafficStore, days: Sequence[int]) -> Totals:
    totals = [total for day in days for total in store.totals_of_day(day)]
    return {(total.gateway_id, total.day): (total.tx, total.rx) for total in totals}


def _differences(stored: Totals, expected: Totals, error: float) -> list[str]:
    sentences = []
    for key in sorted(stored.keys() | expected.keys()):
        total, exact = stored.get(key), expected.get(key)
        if not _same(total, exact, error):
            gateway_id, day = key
            sentences.append(
                f"{gateway_id} on day {day}: {_total_text(total)}, exact is {_total_text(exact)}"
            )
    return sentences


def latencies_s(
    ledger: pl.DataFrame, counts: pl.DataFrame
) -> tuple[np.ndarray[tuple[int], np.dtype[np.float64]], int]:
    """Seconds from due to store of each acknowledged record that the watch saw, and the number of
    records that it never saw.
    """
    acked = ledger.filter(pl.col("acked").is_not_null())
    due = acked.group_by(answers.IDENTITY).agg(pl.col("due").min())["due"].sort().to_numpy()
    held = np.maximum.accumulate(counts["records"].to_numpy()) if len(counts) else np.empty(0)
    at = np.searchsorted(held, np.arange(1, len(due) + 1))
    seen = at < len(held)
    return (counts["time_ns"].to_numpy()[at[seen]] - due[seen]) / 1e9, int((~seen).sum())


def seen_rows(sent: pl.DataFrame, counts: pl.DataFrame, *, consumer: str) -> pl.DataFrame:
    """When the store held each acknowledged record, by the counts of a watch: consumer, topic,
    producer, sequence, seen, key.

    `sent` is what clients wrote with --sent. Records that the watch never saw have no row.
    """
    acked = sent.filter(pl.col("acked").is_not_null()).sort("due")
    held = np.maximum.accumulate(counts["records"].to_numpy()) if len(counts) else np.empty(0)
    at = np.searchsorted(held, np.arange(1, len(acked) + 1))
    stored = acked.head(int((at < len(held)).sum()))
    times = pl.Series(counts["time_ns"].to_numpy()[at[: len(stored)]], dtype=pl.Int64)
    return stored.select(
        pl.lit(consumer).alias("consumer"),
        *("topic", "producer", "sequence"),
        # A record that overtook another takes its time, which may be before it was sent.
        pl.max_horizontal(times.alias("time"), "sent").alias("seen"),
        "key",
    )


def _same(
    stored: tuple[float, float] | None, expected: tuple[float, float] | None, error: float
) -> bool:
    if stored is None or expected is None:
        return stored is expected
    pairs = zip(stored, expected, strict=True)
    return all(abs(one - other) <= error * abs(other) for one, other in pairs)


def _total_text(total: tuple[float, float] | None) -> str:
    return "nothing" if total is None else f"{total[0]:.0f} and {total[1]:.0f} bytes"
