"""The course of a run as checks see it: which fault was active when, whether the load ended, and
who had caught up at the end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

import polars as pl

from streambed.plan import WITNESS
from streambed.record.events import (
    Drained,
    DrainIncomplete,
    Heal,
    Inject,
    InjectFailed,
    Phase,
    ProcessEnded,
    ProcessStarted,
    Wait,
    WitnessIncomplete,
)
from streambed.record.fidelity import Span
from streambed.record.history import History, Verdict

FOREVER_NS = 2**63 - 1


@dataclass(frozen=True, kw_only=True)
class ActiveFault:
    """A fault from its injection until it was healed."""

    name: str
    start: int
    end: int


def doubted(verdict: Verdict, history: History) -> Verdict:
    """A promise that was kept while a declared fault did not happen says nothing about that fault:
    then it is unknown.
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
    """Whether a row of a table, whose columns `start` and `end` hold its own span, touches one that
    is not to be believed.
    """
    last = pl.col(end).fill_null(pl.col(start))
    return pl.any_horizontal(
        pl.lit(False), *((pl.col(start) <= span.end) & (last >= span.start) for span in spans)
    )


def faults_of(history: History) -> list[ActiveFault]:
    """Every fault that was injected. Its name is its kind, and its target too if there were several
    of the kind.
    """
    injects, heals = history.of(Inject), history.of(Heal)
    kinds = Counter(inject.kind for inject in injects)
    return [
        ActiveFault(
            name=_name(inject, alone=kinds[inject.kind] == 1),
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
    """The faults active at some time in a span, as they are read aloud; empty if there was none."""
    return ", ".join(
        dict.fromkeys(fault.name for fault in faults if fault.start <= end and fault.end >= start)
    )


def names_during(faults: Iterable[ActiveFault], *, start: str, end: str) -> pl.Expr:
    """The same for every row of a table, whose columns `start` and `end` hold the span."""
    names = [
        pl.when((pl.col(start) <= fault.end) & (pl.col(end) >= fault.start)).then(
            pl.lit(fault.name)
        )
        for fault in faults
    ]
    return pl.concat_str(names, separator=", ", ignore_nulls=True) if names else pl.lit("")


def load_ended(history: History) -> bool:
    """Whether the run went on to its drain. A run that broke under load never does."""
    return any(event.phase == "drain" for event in history.of(Phase))


@dataclass(frozen=True, kw_only=True)
class Unread:
    """What a reader had not surely read of a topic when the run stopped waiting: all of it, or some
    partitions.
    """

    everything: bool = False
    partitions: frozenset[int] = frozenset()

    def rows(self) -> pl.Expr:
        """Whether a row of a table of records, with the column `partition`, is of what may not have
        been read.
        """
        if self.everything:
            return pl.lit(True)
        return pl.col("partition").is_in(list(self.partitions))


def unread(history: History, *, reader: str, members: Iterable[str], topic: str) -> Unread:
    """What a reader may not have read of a topic: a job, or a group with its members. The run does
    not wait for the dead.
    """
    ends = history.of(Drained, DrainIncomplete)
    if not ends or all(_dead_at(history, member, ends[-1].time) for member in members):
        return Unread(everything=True)
    waits = [wait for end in history.of(DrainIncomplete) for wait in end.waits]
    concerned = [wait for wait in waits if _concerns(wait, reader, topic)]
    if any(wait.partition is None for wait in concerned):
        return Unread(everything=True)
    return Unread(
        partitions=frozenset(wait.partition for wait in concerned if wait.partition is not None)
    )


def _concerns(wait: Wait, reader: str, topic: str) -> bool:
    """Whether a wait leaves open what a reader has read of a topic."""
    if wait.reason == "unknown":
        return True
    if wait.reason in ("unreadable", "in_flight"):
        return topic in wait.topics
    return wait.reader == reader and topic in wait.topics


def _dead_at(history: History, component: str, time: int) -> bool:
    lives = [
        event for event in history.of(ProcessStarted, ProcessEnded) if event.component == component
    ]
    before = [event for event in lives if event.time <= time]
    return bool(before) and isinstance(before[-1], ProcessEnded)


def witness_finished(history: History) -> bool:
    """Whether nothing says that the witness gave up before it had read everything back."""
    ended = [event.status for event in history.of(ProcessEnded) if event.component == WITNESS]
    return not history.of(WitnessIncomplete) and not any(ended)


def counted(count: int, noun: str) -> str:
    """A number of things as it is read aloud: 1 record, 2 records."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
