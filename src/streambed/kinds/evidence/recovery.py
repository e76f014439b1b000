"""How a pipeline recovers from faults: effect, outage, restored, caught up."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from streambed.judge.columns import batches_of_topic, numbers
from streambed.kinds.evidence.by_batches import batches_of
from streambed.kinds.evidence.course import FOREVER_NS, ActiveFault, faults_of
from streambed.record.history import History
from streambed.units import Duration, shown

BASELINE_NS = 10_000_000_000
"""How much load there must be before the first fault."""
HOLD = Duration(5e9)
"""How long records must stay as fast as before, unless a check says otherwise."""
SLACK = 1.5
"""A latency is as before up to this many times the p99 of the baseline."""
SECOND_NS = 1_000_000_000
NEVER_NS = 2**62
"""The latency of a lost record."""


@dataclass(frozen=True, kw_only=True)
class Baseline:
    """Latency before the first fault."""

    p99_ns: int
    interval_ns: int
    """The median time between the starts of two batches of a job; 0 for others."""

    @property
    def bound_ns(self) -> int:
        """A p99 up to this is as before."""
        return round(self.p99_ns * SLACK) + self.interval_ns


@dataclass(frozen=True, kw_only=True)
class FaultSet:
    """Faults that overlap in time."""

    names: str
    start: int
    end: int


@dataclass(frozen=True, kw_only=True)
class Recovery:
    """The recovery from one set of faults. A span is None if it is not known, or nothing came."""

    faults: str
    start: int
    end: int
    effect_ns: int | None
    """From the injection until a record was later than before; None if none was."""
    outage_ns: int | None
    """The longest span without an output, from the injection on."""
    restored_ns: int | None
    """From the healing until the first output after it."""
    caught_up_ns: int | None
    """From the healing until records were as fast as before, and stayed so."""
    at_least_ns: int | None
    """What is sure of `caught_up_ns`: it is this, or more."""
    why_unknown: str = ""
    ack_outage_ns: int | None = None
    """The longest span without an acknowledgement of the inputs, from the injection on."""

    def evidence(self, history: History) -> dict[str, Any]:
        """The recovery as data of the verdict, with times in seconds since the run began."""
        return {
            "faults": self.faults,
            "start_s": history.seconds(self.start),
            "end_s": history.seconds(self.end),
            "effect_ns": self.effect_ns,
            "outage_ns": self.outage_ns,
            "ack_outage_ns": self.ack_outage_ns,
            "restored_ns": self.restored_ns,
            "caught_up_ns": self.caught_up_ns,
            "at_least_ns": self.at_least_ns,
        }


def fault_sets(faults: list[ActiveFault]) -> list[FaultSet]:
    """Faults that overlap, joined."""
    sets: list[FaultSet] = []
    for fault in sorted(faults, key=lambda fault: fault.start):
        if sets and fault.start <= sets[-1].end:
            last = sets.pop()
            names = f"{last.names}, {fault.name}"
            end = max(last.end, fault.end)
            sets.append(FaultSet(names=names, start=last.start, end=end))
        else:
            sets.append(FaultSet(names=fault.name, start=fault.start, end=fault.end))
    return sets


def baseline_of(
    history: History, name: str, records: pl.DataFrame, warm_up: Duration
) -> Baseline | str:
    """The latency before the first fault; or why there is none."""
    faults = faults_of(history)
    if not faults:
        return "no fault was injected"
    begin = (history.load_ns or 0) + warm_up.ns
    first = min(fault.start for fault in faults)
    if first - begin < BASELINE_NS:
        return (
            f"only {shown(max(0, first - begin))} of load before the first fault: "
            f"{shown(BASELINE_NS)} are needed to know what is usual"
        )
    # Records in flight at the first fault do not belong to the baseline.
    calm = pl.col("due").is_between(begin, first) & (pl.col("seen") <= first)
    latencies = records.filter(calm).select(pl.col("seen") - pl.col("due")).to_series()
    p99 = latencies.quantile(0.99, interpolation="higher")
    if p99 is None:
        return f"{name} saw nothing before the first fault"
    return Baseline(p99_ns=round(p99), interval_ns=_batch_interval(history, name, first))


def _batch_interval(history: History, name: str, before: int) -> int:
    starts = [batch.start for batch in batches_of(history, name) if batch.end <= before]
    median = pl.Series(starts, dtype=pl.Int64).sort().diff().median()
    return round(median) if isinstance(median, float) else 0


def recoveries(
    history: History, records: pl.DataFrame, baseline: Baseline, hold: Duration
) -> list[Recovery]:
    """The recovery from each set of faults."""
    sets = fault_sets(faults_of(history))
    measured = _with_latency(records)
    acks = _acks(history, records)
    ends = [*(following.start for following in sets[1:]), FOREVER_NS]
    return [
        replace(
            _recovery(measured, faults, baseline, hold, until),
            ack_outage_ns=_outage(acks, faults.start, until, _last_due(measured, until)),
        )
        for faults, until in zip(sets, ends, strict=True)
    ]


def _with_latency(records: pl.DataFrame) -> pl.DataFrame:
    """Add `latency`; null if it is unknown whether or when a record was seen."""
    lost = pl.when("lost").then(NEVER_NS)
    measured = pl.coalesce("seen", "latest") - pl.col("due")
    return records.with_columns(latency=pl.coalesce(measured, lost)).sort("due")


def _recovery(
    records: pl.DataFrame, faults: FaultSet, baseline: Baseline, hold: Duration, until: int
) -> Recovery:
    bound = baseline.bound_ns
    effect = _first_effect(records, faults.start, bound, until)
    if faults.end == FOREVER_NS:
        return _recovery_without_heal(records, faults, effect, until)
    outputs = records["seen"].drop_nulls().sort()
    after = outputs.filter(outputs >= faults.end)
    last_due = _last_due(records, until)
    caught_up, at_least, why = _caught_up(records, faults.end, bound, hold, until)
    return Recovery(
        faults=faults.names,
        start=faults.start,
        end=faults.end,
        effect_ns=effect,
        outage_ns=_outage(outputs, faults.start, until, last_due),
        restored_ns=after[0] - faults.end if len(after) else None,
        caught_up_ns=caught_up,
        at_least_ns=at_least,
        why_unknown=why,
    )


def _first_effect(records: pl.DataFrame, start: int, bound: int, until: int) -> int | None:
    """How long after the injection a record was first late; None if none was."""
    not_yet_seen = pl.col("due") + pl.col("latency").fill_null(0) >= start
    is_late = pl.col("latency") > bound
    late = records.filter(not_yet_seen & is_late & (pl.col("due") < until))
    if late.is_empty():
        return None
    first_late = int(late["due"].to_numpy().min()) + bound
    return max(0, first_late - start)


def _recovery_without_heal(
    records: pl.DataFrame, faults: FaultSet, effect: int | None, until: int
) -> Recovery:
    outputs = records["seen"].drop_nulls().sort()
    return Recovery(
        faults=faults.names,
        start=faults.start,
        end=faults.start,
        effect_ns=effect,
        outage_ns=_outage(outputs, faults.start, until, _last_due(records, until)),
        restored_ns=None,
        caught_up_ns=None,
        at_least_ns=None,
        why_unknown="it was not healed",
    )


def _last_due(records: pl.DataFrame, until: int) -> int:
    last = records.filter(pl.col("due") < until)["due"].max()
    return last if isinstance(last, int) else 0


def _acks(history: History, records: pl.DataFrame) -> pl.Series:
    """When records of these topics were acknowledged, in order."""
    parts = [np.empty(0, np.int64)]
    for topic in records["topic"].unique().sort():
        for batch in batches_of_topic(history.ledger, "sent", topic, ("acked",)):
            parts.append(numbers(batch.column(0), np.int64))
    times = np.concatenate(parts)
    return pl.Series(np.sort(times[times >= 0]))


def _outage(outputs: pl.Series, start: int, until: int, last_due: int) -> int | None:
    """The longest span without one of these that ends after the injection. One without end lasts
    until the last record was due.
    """
    ends = pl.concat([outputs.filter(outputs <= until), pl.Series([last_due], dtype=outputs.dtype)])
    gaps = pl.DataFrame({"end": ends, "gap": ends.diff()})
    longest = gaps.filter(pl.col("end").is_between(start, until))["gap"].max()
    return longest if isinstance(longest, int) and longest > 0 else None


def _caught_up(
    records: pl.DataFrame, heal: int, bound: int, hold: Duration, until: int
) -> tuple[int | None, int | None, str]:
    """When records were as fast as before for the hold: exactly, at least, or why it is unknown.

    By seconds of due time after the healing. The first second of those that hold counts.
    """
    seconds = _seconds_after(records, heal, until)
    if not seconds:
        return None, None, "no record was due after it was healed"
    needed = -(-hold.ns // SECOND_NS)
    start, held = 0, 0
    for second, p99, is_open in seconds:  # A second in which nothing was due says nothing.
        if p99 is not None and p99 > bound:
            start, held = second + 1, 0
            continue
        if is_open:
            return None, None, "it is unknown whether all records were seen"
        if not held and second > start:
            why = f"no record was due from {start} s to {second} s after it was healed"
            return None, start * SECOND_NS, why
        held += 1
        if held >= needed:
            return start * SECOND_NS, start * SECOND_NS, ""
    why = f"only {held} s of load after it had caught up: too short for the hold"
    if not held:
        why = "it had not caught up when the load ended, or the next fault came"
    return None, start * SECOND_NS, why


def _seconds_after(
    records: pl.DataFrame, heal: int, until: int
) -> list[tuple[int, float | None, bool]]:
    """Each second with records due, from the healing on: its number, p99, and whether a latency is
    unknown.
    """
    due = records.filter(pl.col("due").is_between(heal, until, closed="left"))
    by_second = due.group_by(second=(pl.col("due") - heal) // SECOND_NS)
    seconds = by_second.agg(
        p99=pl.col("latency").quantile(0.99, interpolation="higher"),
        open=pl.col("latency").is_null().any(),
    )
    return seconds.sort("second").rows()
