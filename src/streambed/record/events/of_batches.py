"""What happens to the batches of a job."""

from __future__ import annotations

from dataclasses import dataclass, field

from streambed.record.events.event import Event

NextOffsets = dict[str, dict[int, int]]
"""By topic and partition: the offset after the last one."""


@dataclass(frozen=True, kw_only=True)
class BatchStep(Event):
    """A job wrote an entry to its log of batches."""

    component: str
    query_id: str
    batch: int
    written: int
    """When it was written."""


@dataclass(frozen=True, kw_only=True)
class BatchPlanned(BatchStep):
    """A job decided what a batch reads, before it begins: Spark's `offsets/N`."""

    past: NextOffsets = field(default_factory=dict)
    """Up to where it reads."""


@dataclass(frozen=True, kw_only=True)
class BatchCommitted(BatchStep):
    """A job finished a batch and its output: Spark's `commits/N`."""

    ends: NextOffsets = field(default_factory=dict)
    """Where the topics that the job writes ended just afterwards; empty if unknown."""
    exact: bool = False
    """Whether these were asked before the next batch of this query was planned: then no output of
    a later batch lies before them.
    """


@dataclass(frozen=True, kw_only=True)
class Batch(Event):
    """A job finished a batch."""

    component: str
    query: str = ""
    """The name of the query; its id if it has none."""
    query_id: str = ""
    """Stays the same as long as its checkpoint does."""
    run: str = ""
    """The engine's id of this run of the query: another one after each restart."""
    batch: int | None = None
    """The engine's number; a restarted job may use it again."""
    start: int
    end: int
    rows: int = 0
    output_rows: int = -1
    durations_ms: dict[str, float] = field(default_factory=dict)
    offsets: dict[str, dict[int, tuple[int | None, int]]] = field(default_factory=dict)
    """By topic and partition: the first offset it read, and the one after the last."""
    input_per_s: float | None = None
    """Rows that arrived per second, as the engine reports it; None if it does not."""
    processed_per_s: float | None = None
    """Rows processed per second, as the engine reports it; None if it does not."""
    watermark_ns: int | None = None
    """The watermark, in event time as nanoseconds since 1970; None without one."""
    event_time_max_ns: int | None = None
    """The latest event time of its rows, in the same unit; None without a watermark."""
    state_rows: int | None = None
    """Rows of state of all operators; None if none keeps state."""
    late_rows: int | None = None
    """Rows dropped because they were later than the watermark; None if none keeps state."""
