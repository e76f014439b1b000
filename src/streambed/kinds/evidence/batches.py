"""Spark's micro-batches as a table: which offsets of which topic each one took."""

from __future__ import annotations

from itertools import pairwise

import polars as pl

from streambed.record.events import Batch
from streambed.record.history import History

SCHEMA = {
    "query": pl.String,
    "batch": pl.Int64,
    "topic": pl.String,
    "partition": pl.Int32,
    "first": pl.Int64,
    "past": pl.Int64,
    "start": pl.Int64,
    "end": pl.Int64,
}


def ranges_of(history: History, component: str) -> pl.DataFrame:
    """A row for each batch, topic and partition: offsets `first` up to but without `past`, taken
    from `start` to `end`.

    `batch` counts the job's batch events from 0: Spark's own numbers come twice if a job is started
    again.
    """
    events = [event for event in history.of(Batch) if event.component == component]
    rows = [
        (event.query, number, topic, partition, first or 0, past, event.start, event.end)
        for number, event in enumerate(events)
        for topic, partitions in event.offsets.items()
        for partition, (first, past) in partitions.items()
    ]
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def untold_of(history: History, component: str) -> pl.DataFrame:
    """The same of batches that Spark gave no report of, at times that nobody knows.

    A query begins a batch once the one before it is committed. So where a number is left out, that
    batch took what lies between its neighbours. Spark 4.1 tells nothing of a batch that a killed
    driver had begun and a new one did again.
    """
    rows = []
    numbered = [
        (event.query, event.batch, event)
        for event in history.of(Batch)
        if event.component == component and event.batch is not None
    ]
    for (query, number, before), (next_query, next_number, after) in pairwise(
        sorted(numbered, key=lambda entry: entry[:2])
    ):
        if query != next_query or next_number <= number + 1:
            continue
        for topic, partitions in after.offsets.items():
            for partition, (past, _) in partitions.items():
                _, first = before.offsets.get(topic, {}).get(partition, (0, 0))
                rows.append((query, -1, topic, partition, first, past or 0, None, None))
    return pl.DataFrame(rows, schema=SCHEMA, orient="row").filter(pl.col("first") < pl.col("past"))


def times_taken(ranges: pl.DataFrame, records: pl.DataFrame) -> pl.Series:
    """How often batches took each record of one topic, given `partition` and `offset`; a query that
    takes an offset twice counts twice.
    """
    taken = pl.zeros(records.height, dtype=pl.Int64, eager=True)
    for (_, partition), part in ranges.group_by("query", "partition"):
        begun = part["first"].sort().search_sorted(records["offset"], side="right").cast(pl.Int64)
        done = part["past"].sort().search_sorted(records["offset"], side="right").cast(pl.Int64)
        taken += (begun - done) * (records["partition"] == partition).cast(pl.Int64)
    return taken.alias("times")
