"""Which records a job may drop as late: by the event time of each, and the watermarks of batches.

Spark drops a row whose event time is at or below the watermark; if rows are grouped by windows, one
whose window ends there. The watermark that a batch reports is the one for its results. Spark may
use the older one of the batch before to drop rows, so this counts some records as late that Spark
takes, and none the other way round.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from streambed.errors import QueryError
from streambed.kinds.evidence.by_batches import batches_of
from streambed.kinds.evidence.outputs.contents import contents_of
from streambed.kinds.evidence.outputs.input_log import OFFSET_BITS, Flags, Numbers, places_of
from streambed.record.events import Batch
from streambed.record.history import History
from streambed.stores import log_sql

NO_TIME = np.iinfo(np.int64).min


@dataclass(frozen=True, kw_only=True)
class TimedLog:
    """The records of a topic with their event times, in the order of partition and offset."""

    places: Numbers
    event_times: Numbers
    """Nanoseconds since 1970; NO_TIME for null."""
    ends: Numbers
    """The end of the window of each record; its event time without windows."""

    def rows(self, batch: Batch, topic: str) -> Numbers:
        """The records in the ranges of a batch."""
        parts = [np.zeros(0, dtype=np.int64)]
        for partition, (first, past) in batch.offsets.get(topic, {}).items():
            bounds = np.array([first or 0, past]) + (partition << OFFSET_BITS)
            begin, end = np.searchsorted(self.places, bounds)
            parts.append(np.arange(begin, end))
        return np.concatenate(parts)


def timed_log(history: History, topic: str, event_time: str, window_ns: int = 0) -> TimedLog:
    """A topic with event times by an SQL expression; QueryError if it fails."""
    text = f'select "partition", "offset", epoch_ns(({event_time})::timestamp) as t from "{topic}"'
    rows = log_sql.run_sql(text, {topic: contents_of(history, topic)}).sort("partition", "offset")
    times = rows["t"].cast(pl.Int64).fill_null(NO_TIME).to_numpy()
    ends = times
    if window_ns:
        ends = np.where(times == NO_TIME, NO_TIME, (times // window_ns + 1) * window_ns)
    return TimedLog(
        places=places_of(rows["partition"], rows["offset"]), event_times=times, ends=ends
    )


def event_time_problem(event_time: str, topics: tuple[str, ...]) -> str:
    """What is wrong with an expression for the event time; empty if nothing."""
    try:
        for topic in topics:
            log_sql.check_sql(f'select ({event_time})::timestamp from "{topic}"', topics)
    except QueryError as error:
        return str(error)
    return ""


def late_records(history: History, job: str, topic: str, log: TimedLog) -> Flags:
    """Whether each record may have been dropped as late by the job."""
    late = np.zeros(len(log.places), dtype=bool)
    for batch in batches_of(history, job):
        if batch.watermark_ns is not None:
            rows = log.rows(batch, topic)
            late[rows] |= log.ends[rows] <= batch.watermark_ns
    return late
