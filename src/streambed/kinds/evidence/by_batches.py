"""The way of a record through a job with batches: from when the input was due until a consumer
first saw an output of its batch.

    due ──▶ sent ──▶ offset o of a topic that the job reads
                       │  the batch whose offset range contains o
                       ▼
                     outputs written, by Kafka's timestamp, between that batch's start and end ──▶ first one seen

An input that another job wrote has no due time: it takes the earliest one among the inputs of the
batch that wrote it. Of a job with several queries that run at the same time, outputs go to the
batch that began last.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from streambed.kinds.evidence.batches import ranges_of, times_taken, untold_of
from streambed.kinds.evidence.taken import Taken
from streambed.plan import WITNESS
from streambed.record.events import Batch, Clock
from streambed.record.history import History

PLACE = ["topic", "partition", "offset"]
TICK_NS = 1_000_000
"""Kafka's timestamps are whole milliseconds, rounded down."""


@dataclass(frozen=True, kw_only=True)
class ByBatches:
    """A job that is known by the offset ranges of its batches: what kinds/components/engine.py asks
    of an engine's evidence.
    """

    name: str
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()

    def times_taken(self, history: History, topic: str, records: pl.DataFrame) -> Taken:
        """By the ranges of its batches, and of these only what the read-back still found in the
        log.

        After an unclean election another record can stand at the offset of a lost one.
        """
        ranges = pl.concat([ranges_of(history, self.name), untold_of(history, self.name)])
        times = times_taken(ranges.filter(pl.col("topic") == topic), records)
        # A job without batches left no evidence, for or against.
        evident = bool(times.sum())
        untold = records["offset"] < 0  # With acks=0 nobody learns the offset.
        return Taken(
            times=times * records["in_log"].fill_null(True).cast(pl.Int64),
            untold=untold,
            why_untold="the offsets of {} are unknown",
            evident=evident,
        )

    def journeys(self, history: History) -> pl.DataFrame:
        """Every input with a due time: `batch` is null if no batch took it, `seen` if nobody saw an
        output of its batch.
        """
        seen = history.ledger.seen.filter(pl.col("consumer") != WITNESS)
        first = self._outputs(history, seen).group_by("batch").agg(pl.col("seen").min())
        inputs = self._inputs(history, below=frozenset())
        silent = [
            number for number, event in enumerate(self._batches(history)) if event.output_rows <= 0
        ]
        journeys = inputs.join(first, on="batch", how="left")
        return journeys.select(*PLACE, "batch", "due", "seen", silent=pl.col("batch").is_in(silent))

    def output_dues(
        self, history: History, topics: frozenset[str], *, below: frozenset[str]
    ) -> pl.DataFrame:
        """When its outputs in these topics were due: when the earliest input of their batch was."""
        dues = (
            self._inputs(history, below=below)
            .drop_nulls("batch")
            .group_by("batch")
            .agg(pl.col("due").min())
        )
        # What the read-back saw counts here.
        known = history.ledger.seen.filter(pl.col("topic").is_in(list(topics))).unique(PLACE)
        return self._outputs(history, known).join(dues, on="batch").select(*PLACE, "due")

    def _batches(self, history: History) -> list[Batch]:
        return [event for event in history.of(Batch) if event.component == self.name]

    def _inputs(self, history: History, *, below: frozenset[str]) -> pl.DataFrame:
        """Every record with a due time that the job could read, and the batch that took it."""
        ranges = ranges_of(history, self.name)
        reads = frozenset({*ranges["topic"], *self.reads})
        dues = dues_of(history, reads, below=below | {self.name}).sort("offset")
        # A batch that takes nothing of a partition names its next offset too.
        taking = ranges.filter(pl.col("past") > pl.col("first"))
        firsts = taking.unique(
            ["topic", "partition", "first"], keep="first", maintain_order=True
        ).sort("first")
        taken = dues.join_asof(
            firsts,
            left_on="offset",
            right_on="first",
            by=["topic", "partition"],
            check_sortedness=False,
        )
        inside = pl.when(pl.col("offset") < pl.col("past")).then("batch")
        return taken.with_columns(batch=inside).select(*PLACE, "due", "batch")

    def _outputs(self, history: History, seen: pl.DataFrame) -> pl.DataFrame:
        """Which of the records seen the job wrote, and in which batch: by when Kafka says they were
        written.
        """
        candidates = seen.filter(
            pl.col("topic").is_in(list(self.writes)) & pl.col("producer").is_null()
        )
        spans = (
            ranges_of(history, self.name)
            .select("batch", "start", "end")
            .unique("batch")
            .sort("start")
        )
        written = (
            _written_at(history, candidates)
            .with_columns(latest=pl.col("written") + TICK_NS)
            .sort("latest")
        )
        begun = written.join_asof(spans, left_on="latest", right_on="start")
        within = begun.filter(pl.col("written") <= pl.col("end") + TICK_NS)
        return within.select(*PLACE, "seen", "batch")


def dues_of(history: History, topics: frozenset[str], *, below: frozenset[str]) -> pl.DataFrame:
    """When each record of these topics was due, whether a producer or a job wrote it. Jobs in
    `below` are not asked.
    """
    of_topics = pl.col("topic").is_in(list(topics)) & (pl.col("offset") >= 0)
    parts = [history.ledger.sent.filter(of_topics).select(*PLACE, "due")]
    for name, component in history.components.items():
        engine = component.as_engine
        if engine and name not in below and topics & set(engine.writes):
            parts.append(engine.output_dues(history, topics, below=below))
    return pl.concat(parts).group_by(PLACE).agg(pl.col("due").min())


def _written_at(history: History, seen: pl.DataFrame) -> pl.DataFrame:
    """Kafka's wall-clock timestamps as monotonic time, by the nearest reading of both clocks."""
    readings = [(event.wall_ns, event.time) for event in history.of(Clock)]
    clocks = pl.DataFrame(
        readings, schema={"wall_ns": pl.Int64, "time": pl.Int64}, orient="row"
    ).sort("wall_ns")
    walls = seen.with_columns(wall=pl.col("timestamp") * TICK_NS).sort("wall")
    nearest = walls.join_asof(
        clocks, left_on="wall", right_on="wall_ns", strategy="nearest"
    ).drop_nulls("time")
    return nearest.with_columns(written=pl.col("time") + pl.col("wall") - pl.col("wall_ns"))
