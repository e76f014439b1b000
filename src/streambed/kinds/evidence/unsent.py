"""Records that were due and that the ledger does not have, because their producer was killed."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from streambed.kinds.evidence.readers import of_component
from streambed.record.events import ProcessEnded
from streambed.record.history import History

UNTIMED = 4
"""If a producer skips this many times more numbers than were due, it sends without a timetable:
nothing was due while it was down.
"""


@dataclass(frozen=True, kw_only=True)
class Unsent:
    """How many records are missing between the lives of producers."""

    unnoted: int
    """Due before the kill: they may have been sent, and their rows lost with the process."""
    down: int
    """Due while the producer was down."""


def columns_needed(history: History) -> tuple[str, ...]:
    """The columns of `sent` that `unsent_records` needs beside `due`: none if no producer died."""
    return ("producer", "sequence") if _deaths(history) else ()


def unsent_records(history: History, sent: pl.DataFrame) -> Unsent:
    """The gaps in the sequences of restarted producers, given rows of `sent`."""
    unnoted = down = 0
    for end in _deaths(history):
        of_producers = sent.filter(of_component("producer", end.component))
        for producer in of_producers["producer"].unique():
            before, after = _gap(sent.filter(pl.col("producer") == producer), end.time)
            unnoted += before
            down += after
    return Unsent(unnoted=unnoted, down=down)


def _deaths(history: History) -> list[ProcessEnded]:
    return [end for end in history.of(ProcessEnded) if not end.expected]


def _gap(rows: pl.DataFrame, end: int) -> tuple[int, int]:
    """The missing records around the end of a process: those due before it, and those after."""
    ordered = rows.select("sequence", "due").sort("sequence")
    before = ordered.filter(pl.col("due") <= end).tail(1)
    after = ordered.filter(pl.col("due") > end).head(1)
    if before.is_empty() or after.is_empty():
        return 0, 0
    (first, first_due), (last, last_due) = before.row(0), after.row(0)
    missing = last - first - 1
    spacing = _spacing(ordered)
    if missing <= 0 or missing * spacing > UNTIMED * (last_due - first_due):
        return 0, 0
    step = (last_due - first_due) / (missing + 1)
    unnoted = min(missing, int((end - first_due) / step))
    return unnoted, missing - unnoted


def _spacing(ordered: pl.DataFrame) -> float:
    """The usual time between two records."""
    steps = ordered["due"].diff().drop_nulls()
    return float(steps.median() or 0)  # type: ignore[arg-type]
