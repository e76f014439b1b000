"""Records traced through a job by its micro-batches: which offsets of which topic each one took.

    due ──▶ sent ──▶ offset o of a topic that the job reads
                       │  the batch whose offset range contains o
                       ▼
                     outputs that Kafka timestamped between that batch's start and end
                       │
                       ▼
                     first output seen by a consumer

An input that another job wrote has no due time. It takes the earliest one among the inputs of the
batch that wrote it. If several queries of a job run at the same time, an output belongs to the
batch that began last.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import polars as pl

from streambed.kinds.evidence.course import Taken, by_reader
from streambed.record.events import Batch, Clock
from streambed.record.history import History

POSITION = ["topic", "partition", "offset"]
TICK_NS = 1_000_000
"""Kafka's timestamps are whole milliseconds, rounded down."""


def schema() -> dict[str, pl.DataType | type[pl.DataType]]:
    """The columns of a table of batches. A function, so that a plan does not load polars."""
    return {
        "query": pl.String,
        "batch": pl.Int64,
        "topic": pl.String,
        "partition": pl.Int32,
        "first": pl.Int64,
        "past": pl.Int64,
        "start": pl.Int64,
        "end": pl.Int64,
    }


@dataclass(frozen=True, kw_only=True)
class ByBatches:
    """Evidence about a job from the offset ranges of its batches (see components/engine.py)."""

    name: str
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()

    def times_taken(self, history: History, topic: str, records: pl.DataFrame) -> Taken:
        """Count the batches whose range contains each record.

        Records that the witness did not find in the log do not count: after an unclean election
        another record may have the offset of a lost one.
        """
        ranges = pl.concat([ranges_of(history, self.name), unreported_ranges(history, self.name)])
        times = times_taken(ranges.filter(pl.col("topic") == topic), records)
        in_log = records["in_log"].fill_null(True).cast(pl.Int64)
        return Taken(
            times=times * in_log,
            untold=records["offset"] < 0,  # With acks=0 the broker reports no offset.
            why_untold="the offsets of {} are unknown",
            evident=bool(times.sum()),  # A job without batches leaves no evidence.
        )

    def journeys(self, history: History) -> pl.DataFrame:
        """Every input with a due time.

        `batch` is null if no batch took it, `seen` if no consumer saw an output of its batch.
        """
        seen = history.ledger.seen.filter(by_reader())
        first_seen = self._outputs(history, seen).group_by("batch").agg(pl.col("seen").min())
        inputs = self._inputs(history, below=frozenset())
        bounds = self._unreported_arrivals(history, seen)
        journeys = inputs.join(first_seen, on="batch", how="left")
        journeys = journeys.join(bounds, on="batch", how="left")
        batches = batches_of(history, self.name)
        silent = [number for number, event in enumerate(batches) if event.output_rows <= 0]
        return journeys.select(
            *POSITION,
            "batch",
            "due",
            "seen",
            "earliest",
            "latest",
            silent=pl.col("batch").is_in(silent),
            untold=(pl.col("batch") < 0).fill_null(False) & pl.col("latest").is_null(),
        )

    def output_dues(
        self, history: History, topics: frozenset[str], *, below: frozenset[str]
    ) -> pl.DataFrame:
        """An output was due when the earliest input of its batch was."""
        inputs = self._inputs(history, below=below).drop_nulls("batch")
        dues = inputs.group_by("batch").agg(pl.col("due").min())
        # Records that only the witness saw count here.
        known = history.ledger.seen.filter(pl.col("topic").is_in(list(topics))).unique(POSITION)
        return self._outputs(history, known).join(dues, on="batch").select(*POSITION, "due")

    def _inputs(self, history: History, *, below: frozenset[str]) -> pl.DataFrame:
        """Every record with a due time that the job could read, and the batch that took it."""
        ranges = pl.concat([ranges_of(history, self.name), unreported_ranges(history, self.name)])
        reads = frozenset({*ranges["topic"], *self.reads})
        dues = dues_of(history, reads, below=below | {self.name}).sort("offset")
        # A batch that takes nothing of a partition reports an empty range.
        taking = ranges.filter(pl.col("past") > pl.col("first"))
        range_key = ["topic", "partition", "first"]
        firsts = taking.unique(range_key, keep="first", maintain_order=True).sort("first")
        nearest = dues.join_asof(
            firsts,
            left_on="offset",
            right_on="first",
            by=["topic", "partition"],
            check_sortedness=False,
        )
        inside = pl.when(pl.col("offset") < pl.col("past")).then("batch")
        return nearest.with_columns(batch=inside).select(*POSITION, "due", "batch")

    def _outputs(self, history: History, seen: pl.DataFrame) -> pl.DataFrame:
        """The records that the job wrote, each with its batch, by Kafka's timestamp."""
        written = self._written_records(history, seen)
        written = written.with_columns(latest=pl.col("written") + TICK_NS).sort("latest")
        ranges = ranges_of(history, self.name)
        spans = ranges.select("batch", "start", "end").unique("batch").sort("start")
        begun = written.join_asof(spans, left_on="latest", right_on="start")
        within = begun.filter(pl.col("written") <= pl.col("end") + TICK_NS)
        return within.select(*POSITION, "seen", "batch")

    def _unreported_arrivals(self, history: History, seen: pl.DataFrame) -> pl.DataFrame:
        """When the first and the last output of each unreported batch was first seen.

        An input of it was seen no earlier and no later. The times can be far apart: a new driver
        may have repeated what the killed one had written.
        """
        spans = unreported_ranges(history, self.name).select("batch", "start", "end").unique()
        written = self._written_records(history, seen).group_by(POSITION)
        outputs = written.agg(pl.col("written").min(), pl.col("seen").min())
        inside = spans.join_where(
            outputs, pl.col("written") >= pl.col("start"), pl.col("written") <= pl.col("end")
        )
        first, last = pl.col("seen").min(), pl.col("seen").max()
        return inside.group_by("batch").agg(earliest=first, latest=last)

    def _written_records(self, history: History, seen: pl.DataFrame) -> pl.DataFrame:
        """The records that the job wrote, with the time of Kafka's timestamp."""
        by_job = pl.col("topic").is_in(list(self.writes)) & pl.col("producer").is_null()
        return _with_time_written(history, seen.filter(by_job))


def dues_of(history: History, topics: frozenset[str], *, below: frozenset[str]) -> pl.DataFrame:
    """When each record of these topics was due, whether a producer or a job wrote it.

    Jobs in `below` are already being traced, and are left out.
    """
    of_topics = pl.col("topic").is_in(list(topics)) & (pl.col("offset") >= 0)
    parts = [history.ledger.sent.filter(of_topics).select(*POSITION, "due")]
    for name, component in history.components.items():
        engine = component.as_engine
        if engine and name not in below and topics & set(engine.writes):
            parts.append(engine.evidence.output_dues(history, topics, below=below))
    return pl.concat(parts).group_by(POSITION).agg(pl.col("due").min())


def _with_time_written(history: History, seen: pl.DataFrame) -> pl.DataFrame:
    """Add `written`: Kafka's timestamp as monotonic time, by the nearest reading of both clocks."""
    readings = [(event.wall_ns, event.time) for event in history.of(Clock)]
    schema = {"wall_ns": pl.Int64, "time": pl.Int64}
    clocks = pl.DataFrame(readings, schema=schema, orient="row").sort("wall_ns")
    walls = seen.with_columns(wall=pl.col("timestamp") * TICK_NS).sort("wall")
    nearest = walls.join_asof(clocks, left_on="wall", right_on="wall_ns", strategy="nearest")
    return nearest.drop_nulls("time").with_columns(
        written=pl.col("time") + pl.col("wall") - pl.col("wall_ns")
    )


def batches_of(history: History, component: str) -> list[Batch]:
    """The batch events of a job, in order."""
    return [event for event in history.of(Batch) if event.component == component]


def ranges_of(history: History, component: str) -> pl.DataFrame:
    """A row for each batch, topic and partition: offsets `first` to `past`, without `past` itself.

    `batch` counts the job's batch events from 0: Spark's own numbers repeat if a job is restarted.
    """
    rows = []
    for number, event in enumerate(batches_of(history, component)):
        span = (event.start, event.end)
        for topic, partitions in event.offsets.items():
            for partition, (first, past) in partitions.items():
                rows.append((event.query, number, topic, partition, first or 0, past, *span))
    return pl.DataFrame(rows, schema=schema(), orient="row")


def unreported_ranges(history: History, component: str) -> pl.DataFrame:
    """`ranges_of` batches that Spark did not report; `start` to `end` encloses when they ran.

    A query begins a batch once the one before is committed. So if a number is missing, that batch
    took the offsets between its neighbours. Spark 4.1 reports nothing about a batch that a killed
    driver had begun and a new one repeated. `batch` is negative, a number for each gap; a gap may
    be several batches.
    """
    rows = []
    numbered = [
        (event.query, event.batch, event)
        for event in batches_of(history, component)
        if event.batch is not None
    ]
    numbered.sort(key=lambda entry: entry[:2])
    for gap, (one, next_one) in enumerate(pairwise(numbered), start=1):
        query, number, before = one
        next_query, next_number, after = next_one
        if query != next_query or next_number <= number + 1:
            continue
        for topic, partitions in after.offsets.items():
            for partition, (past, _) in partitions.items():
                _, first = before.offsets.get(topic, {}).get(partition, (0, 0))
                span = (before.end, after.start)
                rows.append((query, -gap, topic, partition, first, past or 0, *span))
    ranges = pl.DataFrame(rows, schema=schema(), orient="row")
    return ranges.filter(pl.col("first") < pl.col("past"))


def times_taken(ranges: pl.DataFrame, records: pl.DataFrame) -> pl.Series:
    """How often batches took each record of one topic, given its `partition` and `offset`."""
    taken = pl.zeros(records.height, dtype=pl.Int64, eager=True)
    for (_, partition), part in ranges.group_by("query", "partition"):
        begun = part["first"].sort().search_sorted(records["offset"], side="right").cast(pl.Int64)
        done = part["past"].sort().search_sorted(records["offset"], side="right").cast(pl.Int64)
        taken += (begun - done) * (records["partition"] == partition).cast(pl.Int64)
    return taken.alias("times")
