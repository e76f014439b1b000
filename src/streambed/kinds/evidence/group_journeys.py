"""Journeys to a group that reads one topic, from the judge's arrays: fast for millions of records.

It answers only where a record can come from nowhere else: one topic, one component in the group,
and no producer that also writes other topics. Everything else is in journeys.py.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from streambed.judge import reading
from streambed.judge.arrays import OFFSET_BITS, OFFSET_MASK, Reads, Topic
from streambed.judge.columns import NONE, Int64s
from streambed.record.history import History

NEVER = np.iinfo(np.int64).max


def journeys_to_group(
    history: History, component: str, group: str, topics: list[str]
) -> pl.DataFrame | None:
    """A row for each record sent to the group's topic: place, due, seen and whether it was acked.

    None if the group may have got records in another way.
    """
    if len(topics) != 1 or not _has_only_these_writers(history, topics[0]):
        return None
    topic = reading.topic_of(history.ledger, topics[0])
    members = {name.partition("/")[0] for label, name in topic.members() if label == group}
    reads = topic.reads.get(group)
    if reads is None or members != {component} or len(topic.strangers):
        return None
    return _frame(topic, reads)


def _has_only_these_writers(history: History, topic: str) -> bool:
    """Whether the components that write a topic write no other, and none is a job."""
    for component in history.components.values():
        written = set(component.topics_written)
        if topic in written and (len(written) > 1 or component.as_engine is not None):
            return False
    return True


def _frame(topic: Topic, reads: Reads) -> pl.DataFrame:
    sends = topic.sends
    known = sends.place != NONE
    seen = _first_seen(reads, len(sends))
    return pl.DataFrame(
        {
            "partition": pl.Series(
                np.where(known, sends.place >> OFFSET_BITS, NONE), dtype=pl.Int32
            ),
            "offset": np.where(known, sends.place & OFFSET_MASK, NONE),
            "due": topic.due,
            "seen": pl.Series(seen).replace(NEVER, None),
            "acked": topic.acked,
        }
    ).with_columns(topic=pl.lit(topic.name))


def _first_seen(reads: Reads, count: int) -> Int64s:
    """When each record was first read; NEVER if it was not."""
    first = np.full(count, NEVER, np.int64)
    identified = reads.record >= 0
    if identified.all():
        np.minimum.at(first, reads.record, reads.time)
    else:
        np.minimum.at(first, reads.record[identified], reads.time[identified])
    return first
