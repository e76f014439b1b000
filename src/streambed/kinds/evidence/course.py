"""The course of a run: which fault was active when, whether the load ended, who had caught up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

import polars as pl

from streambed.plan import READ_BACKS, WITNESS
from streambed.record.events import (
    Drained,
    DrainIncomplete,
    Heal,
    Inject,
    InjectFailed,
    LeaderChanged,
    Phase,
    ProcessEnded,
    ProcessStarted,
    Wait,
    WitnessIncomplete,
)
from streambed.record.fidelity import Span
from streambed.record.history import History, Verdict

FOREVER_NS = 2**63 - 1
SHORTLY_NS = 2_000_000_000
"""How long before a fault an acknowledged record may have been lost by it: a follower in sync
fetches twice a second.
"""
IDENTITY = ["producer", "sequence"]
"""The columns that identify a record in the ledger."""


@dataclass(frozen=True, kw_only=True)
class ActiveFault:
    """A fault, from its injection until it was healed."""

    name: str
    kind: str
    start: int
    end: int


def downgrade_if_fault_missing(verdict: Verdict, history: History) -> Verdict:
    """Make a verdict unknown if it holds, but a declared fault could not be injected.

    The verdict then says nothing about that fault.
    """
    missing = [f"{event.kind} {event.target}" for event in history.of(InjectFailed)]
    if not missing or not verdict.holds:
        return verdict
    return replace(
        verdict,
        answer="unknown",
        says=f"{', '.join(missing)} could not be injected; without it: {verdict.says}",
    )


def in_doubt(spans: Iterable[Span], *, start: str, end: str) -> pl.Expr:
    """Whether a row, whose span is in the columns `start` and `end`, overlaps one of these."""
    last = pl.col(end).fill_null(pl.col(start))
    overlaps = [(pl.col(start) <= span.end) & (last >= span.start) for span in spans]
    return pl.any_horizontal(pl.lit(False), *overlaps)


def faults_of(history: History) -> list[ActiveFault]:
    """Every injected fault, named by its kind, and by its target too if the kind occurs twice."""
    injects = history.of(Inject)
    heals = history.of(Heal)
    kinds = Counter(inject.kind for inject in injects)
    return [
        ActiveFault(
            name=_name(inject, alone=kinds[inject.kind] == 1),
            kind=inject.kind,
            start=inject.time,
            end=_healed_at(inject, heals),
        )
        for inject in injects
    ]


def _name(inject: Inject, *, alone: bool) -> str:
    return inject.kind if alone else f"{inject.kind} {inject.target}".strip()


def _healed_at(inject: Inject, heals: list[Heal]) -> int:
    same = (heal.time for heal in heals if heal.fault == inject.fault and heal.time >= inject.time)
    return next(same, FOREVER_NS)  # A fault that could not be healed lasts until the end.


def names_between(faults: Iterable[ActiveFault], *, start: int, end: int) -> str:
    """The names of the faults that were active in a span, joined by commas."""
    names = [fault.name for fault in faults if fault.start <= end and fault.end >= start]
    return ", ".join(dict.fromkeys(names))


def names_during(faults: Iterable[ActiveFault], *, start: str, end: str) -> pl.Expr:
    """`names_between` for every row of a table; the columns `start` and `end` hold its span."""
    names = []
    for fault in faults:
        active = (pl.col(start) <= fault.end) & (pl.col(end) >= fault.start)
        names.append(pl.when(active).then(pl.lit(fault.name)))
    if not names:
        return pl.lit("")
    return pl.concat_str(names, separator=", ", ignore_nulls=True)


@dataclass(frozen=True, kw_only=True)
class Deposed:
    """A fault after whose injection a partition got another leader. Records that the old leader
    acknowledged in `start` to `end`, just before the fault, may have existed only there.
    """

    fault: str
    partition: int
    start: int
    end: int


def deposed_leaders(history: History, topic: str) -> list[Deposed]:
    """Every change of a leader of a topic that followed a fault, with the last fault before it."""
    changes = [event for event in history.of(LeaderChanged) if event.topic == topic]
    deposed = []
    for change in changes:
        earlier = [fault for fault in faults_of(history) if fault.start <= change.time]
        if not change.was or not earlier:
            continue
        fault = max(earlier, key=lambda fault: fault.start)
        same = (event for event in changes if event.partition == change.partition)
        since = max((event.time for event in same if event.time < change.time), default=0)
        start = max(since, fault.start - SHORTLY_NS)
        deposed.append(
            Deposed(fault=fault.name, partition=change.partition, start=start, end=fault.start)
        )
    return deposed


def names_before(deposed: Iterable[Deposed]) -> pl.Expr:
    """The fault that began shortly after a record was acked and cost its leader the lead; empty for
    all other rows. The columns `partition` and `acked` hold the record.
    """
    name = pl.lit("")
    for one in deposed:
        acked = pl.col("acked").is_between(one.start, one.end)
        name = (
            pl.when((pl.col("partition") == one.partition) & acked)
            .then(pl.lit(one.fault))
            .otherwise(name)
        )
    return name


def by_reader() -> pl.Expr:
    """Whether a row of `seen` is of a reader, not of a read-back after the drain."""
    return ~pl.col("consumer").is_in(READ_BACKS)


def load_ended(history: History) -> bool:
    """Whether the run reached its drain. A run that breaks under load never does."""
    return any(event.phase == "drain" for event in history.of(Phase))


@dataclass(frozen=True, kw_only=True)
class Unread:
    """What a reader may not have read of a topic when the drain ended: all, or some partitions."""

    everything: bool = False
    partitions: frozenset[int] = frozenset()

    def rows(self) -> pl.Expr:
        """Whether a record, given its column `partition`, may not have been read."""
        if self.everything:
            return pl.lit(True)
        return pl.col("partition").is_in(list(self.partitions))


@dataclass(frozen=True, kw_only=True)
class Taken:
    """How often a job took each of some records. Both columns have one value per record."""

    times: pl.Series
    untold: pl.Series
    """Whether it is unknown if the job took the record, even though it had caught up."""
    why_untold: str = ""
    """Why that is unknown; {} becomes the number of records."""
    evident: bool = True
    """Whether there is any evidence at all. Without it no record counts as lost."""


def times_in(seen: pl.DataFrame, records: pl.DataFrame) -> pl.Series:
    """How often each of `records` occurs in a table of records that were seen."""
    counts = seen.group_by(IDENTITY).agg(times=pl.len().cast(pl.Int64))
    joined = records.join(counts, on=IDENTITY, how="left", maintain_order="left")
    return joined["times"].fill_null(0)


def unread(history: History, *, reader: str, members: Iterable[str], topic: str) -> Unread:
    """What a reader, a job or a group of members, may not have read of a topic.

    The drain does not wait for dead processes, so a reader without a live member may lack anything.
    """
    ends = history.of(Drained, DrainIncomplete)
    if not ends or all(_dead_at(history, member, ends[-1].time) for member in members):
        return Unread(everything=True)
    waits = [wait for end in history.of(DrainIncomplete) for wait in end.waits]
    concerned = [wait for wait in waits if _concerns(wait, reader, topic)]
    if any(wait.partition is None for wait in concerned):
        return Unread(everything=True)
    partitions = [wait.partition for wait in concerned if wait.partition is not None]
    return Unread(partitions=frozenset(partitions))


def _concerns(wait: Wait, reader: str, topic: str) -> bool:
    """Whether a wait leaves open what a reader has read of a topic."""
    if wait.reason == "unknown":
        return True
    if wait.reason in ("unreadable", "in_flight"):
        return topic in wait.topics
    return wait.reader == reader and topic in wait.topics


def _dead_at(history: History, component: str, time: int) -> bool:
    events = history.of(ProcessStarted, ProcessEnded)
    before = [event for event in events if event.component == component and event.time <= time]
    return bool(before) and isinstance(before[-1], ProcessEnded)


def ended_in_order(history: History, component: str) -> bool:
    """Whether its processes ended by themselves, each with status 0, before the run stopped."""
    ends = [event for event in history.of(ProcessEnded) if event.component == component]
    stops = [event.time for event in history.of(Phase) if event.phase == "stop"]
    stop_ns = min(stops, default=FOREVER_NS)
    return bool(ends) and all(end.status == 0 and end.time <= stop_ns for end in ends)


def failures_of(history: History, component: str) -> list[int]:
    """The status of each process of it that failed, or that something else than the run ended."""
    ends = [event for event in history.of(ProcessEnded) if event.component == component]
    return [end.status for end in ends if end.status != 0 and not end.expected]


def witness_finished(history: History) -> bool:
    """Whether the witness read everything back: it neither gave up nor failed."""
    ended = [event.status for event in history.of(ProcessEnded) if event.component == WITNESS]
    return not history.of(WitnessIncomplete) and not any(ended)
