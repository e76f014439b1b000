"""When things occurred in a run, and during which situations."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl

from streambed.judge.columns import Rows, numbers
from streambed.kinds.evidence.course import FOREVER_NS, faults_of
from streambed.record.events import (
    Batch,
    ControllerChanged,
    Event,
    Inject,
    InSyncChanged,
    LeaderChanged,
    Phase,
    ProcessStarted,
    Reroute,
)
from streambed.record.history import History
from streambed.record.ledger.schemas import Outcome

Span = tuple[int, int]


def times_of(history: History, what: str, of: str = "") -> list[int]:
    """When something occurred, rising; `of` is a component or a topic, or empty for any."""
    return sorted(_OCCURRENCES[what](history, of))


def within(history: History, during: str, times: list[int]) -> list[int]:
    """Those of these times in a situation: one of SITUATIONS, faults, or a kind of fault."""
    if during in SITUATIONS:
        spans = SITUATIONS[during](history)
    else:
        active = [fault for fault in faults_of(history) if during in ("faults", fault.kind)]
        spans = [(fault.start, fault.end) for fault in active]
    return [time for time in times if any(start <= time <= end for start, end in spans)]


def _of(event: Event, of: str) -> bool:
    names = (getattr(event, "component", ""), getattr(event, "topic", ""))
    return not of or of in names


def _changes(kind: type[LeaderChanged | ControllerChanged | InSyncChanged]) -> _Occurrence:
    def times(history: History, of: str) -> list[int]:
        # The first look at a cluster records its state as a change from nothing.
        return [event.time for event in history.of(kind) if event.was and _of(event, of)]

    return times


_Occurrence = Callable[[History, str], list[int]]


def _restarts(history: History, of: str) -> list[int]:
    starts = history.of(ProcessStarted)
    return [event.time for event in starts if event.incarnation > 1 and _of(event, of)]


def _batches(history: History, of: str) -> list[int]:
    return [event.end for event in history.of(Batch) if _of(event, of)]


def _injects(history: History, of: str) -> list[int]:
    return [
        event.time for event in history.of(Inject) if not of or of in (event.kind, event.target)
    ]


def _reroutes(history: History, of: str) -> list[int]:
    return [event.time for event in history.of(Reroute) if not of or of in event.nodes]


def _assignment_changes(*changes: str) -> _Occurrence:
    def times(history: History, of: str) -> list[int]:
        rows = history.ledger.assignments.filter(pl.col("change").is_in(changes))
        if of:
            rows = rows.filter(pl.any_horizontal(pl.col("consumer", "group", "topic") == of))
        return rows["time"].unique().to_list()

    return times


def _aborts(history: History, of: str) -> list[int]:
    rows = history.ledger.transactions.filter(pl.col("outcome") == int(Outcome.ABORTED))
    if of:
        rows = rows.filter(pl.col("producer") == of)
    return rows["ended"].drop_nulls().to_list()


_OCCURRENCES: dict[str, _Occurrence] = {
    "leader change": _changes(LeaderChanged),
    "controller change": _changes(ControllerChanged),
    "in-sync change": _changes(InSyncChanged),
    "restart": _restarts,
    "rebalance": _assignment_changes("revoked", "lost"),
    "offset reset": _assignment_changes("reset"),
    "batch": _batches,
    "abort": _aborts,
    "fault": _injects,
    "reroute": _reroutes,
}


def _phase(name: str, following: str) -> Callable[[History], list[Span]]:
    def spans(history: History) -> list[Span]:
        starts = [event.time for event in history.of(Phase) if event.phase == name]
        ends = [event.time for event in history.of(Phase) if event.phase == following]
        return [(start, min(ends, default=FOREVER_NS)) for start in starts]

    return spans


def _in_flight(history: History) -> list[Span]:
    """When at least one record was sent and not yet acknowledged, as far as that is known."""
    rows = Rows(sent=np.int64, acked=np.int64)
    for batch in history.ledger.batches("sent", ["sent", "acked"]):
        known = batch.drop_null()
        rows.add(sent=numbers(known.column(0), np.int64), acked=numbers(known.column(1), np.int64))
    return _merge(rows.take("sent"), rows.take("acked"))


def _merge(starts: np.ndarray, ends: np.ndarray) -> list[Span]:
    """Join spans that overlap."""
    if not len(starts):
        return []
    order = np.argsort(starts, kind="stable")
    begun, reached = starts[order], np.maximum.accumulate(ends[order])
    breaks = np.flatnonzero(begun[1:] > reached[:-1]) + 1
    firsts = np.concatenate([[0], breaks])
    lasts = np.concatenate([breaks - 1, [len(begun) - 1]])
    return list(zip(begun[firsts].tolist(), reached[lasts].tolist(), strict=True))


def _working(history: History) -> list[Span]:
    return [(event.start, event.end) for event in history.of(Batch) if event.rows]


def _open_transactions(history: History) -> list[Span]:
    rows = history.ledger.transactions.select("began", pl.col("ended").fill_null(FOREVER_NS))
    return list(rows.iter_rows())


def _without_reader(history: History) -> list[Span]:
    """From when a group gave a partition up until one of its members had it again."""
    keys = ["group", "topic", "partition"]
    rows = history.ledger.assignments.filter(pl.col("group") != "").sort("time")
    spans = []
    for _, changes in rows.group_by(keys, maintain_order=True):
        left = None
        for time, change in changes.select("time", "change").iter_rows():
            if change in ("revoked", "lost"):
                left = time
            elif change == "assigned" and left is not None:
                spans.append((left, time))
                left = None
    return spans


SITUATIONS: dict[str, Callable[[History], list[Span]]] = {
    "load": _phase("load", "heal"),
    "drain": _phase("drain", "stop"),
    "in flight": _in_flight,
    "batch": _working,
    "transaction": _open_transactions,
    "rebalance": _without_reader,
}
"""Situations by name, and their spans."""
