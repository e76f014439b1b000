"""Auditing: is what a store says the exact answer for what was acknowledged, and how long did
records take to get there?

A store does not tell when it took each record. A watch therefore counts its records many times a
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


@dataclass(frozen=True, kw_only=True)
class Audit:
    """What was compared, and what differed."""

    acked: int
    gateways: int
    days: int
    differences: list[str]

    @property
    def says(self) -> str:
        """In one line."""
        days = f"{self.days} day{'' if self.days == 1 else 's'}"
        if not self.differences:
            return f"the store equals the exact answer for {self.acked:,} acknowledged records: {self.gateways:,} gateways, {days}"
        shown = "; ".join(self.differences[:DIFFERENCES_SHOWN])
        return f"{len(self.differences)} of the store's totals differ from the exact answer for {self.acked:,} records: {shown}"


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
    """Compare every gateway's every day. *Rate* is a product of doubles, so it may differ by
    RATE_ERROR of the value.
    """
    records = answers.acked(trace, ledger, version)
    if records.is_empty():
        raise UsageError(
            "the ledgers call no record of the trace acknowledged: there is nothing to compare"
        )
    exact = answers.answer(answers.reported_traffic(version, records)).totals
    wanted = {
        (gateway_id, day): (tx, rx)
        for gateway_id, day, tx, rx in exact.select("gateway_id", "day", "tx", "rx").iter_rows()
    }
    days = sorted({day for _, day in wanted} | {total.day for total in store.days()})
    found = {
        (total.gateway_id, total.day): (total.tx, total.rx)
        for day in days
        for total in store.totals_of_day(day)
    }
    error = answers.RATE_ERROR if version is Version.RATE else 0.0
    differences = [
        f"{gateway_id} on day {day}: {_shown(found.get((gateway_id, day)))}, exact is "
        f"{_shown(wanted.get((gateway_id, day)))}"
        for gateway_id, day in sorted(found.keys() | wanted.keys())
        if not _same(found.get((gateway_id, day)), wanted.get((gateway_id, day)), error)
    ]
    count = records.unique(answers.IDENTITY).height
    return Audit(
        acked=count,
        gateways=exact["gateway_id"].n_unique(),
        days=exact["day"].n_unique(),
        differences=differences,
    )


def latencies_s(
    ledger: pl.DataFrame, counts: pl.DataFrame
) -> tuple[np.ndarray[tuple[int], np.dtype[np.float64]], int]:
    """Seconds from due to store of each acknowledged record, as far as the watch saw it, and how
    many it never saw there.
    """
    acked = ledger.filter(pl.col("acked").is_not_null())
    due = acked.group_by(answers.IDENTITY).agg(pl.col("due").min())["due"].sort().to_numpy()
    held = np.maximum.accumulate(counts["records"].to_numpy()) if len(counts) else np.empty(0)
    at = np.searchsorted(held, np.arange(1, len(due) + 1))
    seen = at < len(held)
    return (counts["time_ns"].to_numpy()[at[seen]] - due[seen]) / 1e9, int((~seen).sum())


def _same(
    found: tuple[float, float] | None, wanted: tuple[float, float] | None, error: float
) -> bool:
    if found is None or wanted is None:
        return found is wanted
    return all(
        abs(one - other) <= error * abs(other) for one, other in zip(found, wanted, strict=True)
    )


def _shown(total: tuple[float, float] | None) -> str:
    return "nothing" if total is None else f"{total[0]:.0f} and {total[1]:.0f} bytes"
