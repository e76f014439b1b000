"""Records traced through a job by its micro-batches: which offsets of which topic each one took.

    due ──▶ sent ──▶ offset o of a topic that the job reads
                       │  the batch whose offset range contains o
                       ▼
                     outputs of that batch: those that name one of its inputs, else by where the
                       │  output topics ended when it was committed (batch_outputs.py)
                       ▼
                     first output seen by a consumer

Where an output may be of several batches, the time of the first one is an interval. Without the
ends of topics, as with a checkpoint in HDFS, an output belongs to the batch that began last before
Kafka's timestamp. An input that another job wrote has no due time. It takes the earliest one among
the inputs of the batch that wrote it.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise

import polars as pl

from streambed.kinds.evidence.batch_outputs import POSITION as POSITION
from streambed.kinds.evidence.batch_outputs import candidates
from streambed.kinds.evidence.course import IDENTITY, Taken, by_reader
from streambed.record.events import Batch, Clock
from streambed.record.history import History

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
        another record may have the offset of a lost one. If a batch read fewer rows than its range
        has records, it is unknown which of them it took.
        """
        ranges = _all_ranges(history, self.name).filter(pl.col("topic") == topic)
        times = times_taken(ranges, records)
        in_log = records["in_log"].fill_null(True)
        batches = _batch_of(records.with_columns(topic=pl.lit(topic)), ranges)
        short = _short_batches(batches_of(history, self.name), batches.filter(in_log))
        in_short = batches.is_in(short).fill_null(False)
        counted = (in_log & ~in_short).cast(pl.Int64)
        why = (
            "batches that covered {} read fewer rows" if short else "the offsets of {} are unknown"
        )
        return Taken(
            times=times * counted,
            untold=(records["offset"] < 0) | in_short,  # With acks=0 there is no offset.
            why_untold=why,
            evident=bool(times.sum()),  # A job without batches leaves no evidence.
        )

    def journeys(self, history: History) -> pl.DataFrame:
        """Every input with a due time.

        `batch` is null if no batch took it, `seen` if no consumer saw an output of its batch.
        """
        records = self._inputs_with_arrival(history)
        by_name = pl.col("own").is_not_null()
        in_bounds = ~by_name & ~pl.col("exact")
        batches = batches_of(history, self.name)
        silent = [number for number, event in enumerate(batches) if event.output_rows <= 0]
        unreported = (pl.col("batch") < 0).fill_null(False)
        return records.select(
            *POSITION,
            "batch",
            "due",
            seen=pl.coalesce("own", pl.when("exact").then("earliest")),
            earliest=pl.when(in_bounds).then("earliest"),
            latest=pl.when(in_bounds).then("latest"),
            silent=pl.col("batch").is_in(silent) & ~by_name,
            untold=unreported & pl.col("latest").is_null() & ~by_name,
        )

    def _inputs_with_arrival(self, history: History) -> pl.DataFrame:
        """Every input, with when an output of its batch was first seen.

        own                       when an output that names the input was seen
        earliest, latest, exact   bounds of when the first output of its batch was seen
        """
        seen = history.ledger.seen.filter(by_reader())
        inputs = self._inputs(history, below=frozenset())
        named = self._named_inputs(history, seen)
        with_batch = named.join(inputs.select(*POSITION, "batch"), on=POSITION)
        by_outputs = _first_seen(self._outputs(history, seen), with_batch)
        bounds = self._unreported_arrivals(history, seen)
        first_seen = pl.concat([by_outputs, bounds]).unique("batch", keep="first")
        records = inputs.join(first_seen, on="batch", how="left")
        return records.join(named.rename({"seen": "own"}), on=POSITION, how="left")

    def output_dues(
        self, history: History, topics: frozenset[str], *, below: frozenset[str]
    ) -> pl.DataFrame:
        """An output was due when the input that it names was; else the earliest of its batch."""
        inputs = self._inputs(history, below=below).drop_nulls("batch")
        dues = inputs.group_by("batch").agg(pl.col("due").min())
        # Records that only the witness saw count here.
        known = history.ledger.seen.filter(pl.col("topic").is_in(list(topics))).unique(POSITION)
        outputs = self._outputs(history, known).join(dues, on="batch")
        by_batch = outputs.group_by(POSITION).agg(pl.col("due").min())
        sent = history.ledger.sent.select(*IDENTITY, "due").unique(IDENTITY)
        named = known.filter(pl.col("topic").is_in(list(self.writes))).join(sent, on=IDENTITY)
        return pl.concat([by_batch, named.select(*POSITION, "due")])

    def _inputs(self, history: History, *, below: frozenset[str]) -> pl.DataFrame:
        """Every record with a due time that the job could read, and the batch that took it."""
        ranges = _all_ranges(history, self.name)
        reads = frozenset({*ranges["topic"], *self.reads})
        dues = dues_of(history, reads, below=below | {self.name})
        return dues.select(*POSITION, "due", batch=_batch_of(dues, ranges))

    def _named_inputs(self, history: History, seen: pl.DataFrame) -> pl.DataFrame:
        """The inputs that outputs name by the identity header, and when the first one was seen."""
        outputs = seen.filter(pl.col("topic").is_in(list(self.writes)))
        first = outputs.drop_nulls("producer").group_by(IDENTITY).agg(pl.col("seen").min())
        sent = history.ledger.sent.filter(pl.col("topic").is_in(list(self.reads)))
        return sent.join(first, on=IDENTITY).select(*POSITION, "seen")

    def _outputs(self, history: History, seen: pl.DataFrame) -> pl.DataFrame:
        """The records that the job wrote and that name no input, with the batches they may be of.

        `sure` if it can be of one only.
        """
        written = self._written_records(seen).group_by(POSITION).agg(pl.col("seen").min())
        numbers = _numbers(history, self.name)
        found = candidates(history, self.name, numbers, written)
        return self._outputs_by_timestamp(history, seen) if found is None else found

    def _outputs_by_timestamp(self, history: History, seen: pl.DataFrame) -> pl.DataFrame:
        written = _with_time_written(history, self._written_records(seen))
        written = written.with_columns(latest=pl.col("written") + TICK_NS).sort("latest")
        ranges = ranges_of(history, self.name)
        spans = ranges.select("batch", "start", "end").unique("batch").sort("start")
        begun = written.join_asof(spans, left_on="latest", right_on="start")
        within = begun.filter(pl.col("written") <= pl.col("end") + TICK_NS)
        return within.select(*POSITION, "seen", "batch", sure=pl.lit(True))

    def _unreported_arrivals(self, history: History, seen: pl.DataFrame) -> pl.DataFrame:
        """When the first and the last output of each unreported batch was first seen.

        An input of it was seen no earlier and no later. The times can be far apart: a new driver
        may have repeated what the killed one had written.
        """
        spans = unreported_ranges(history, self.name).select("batch", "start", "end").unique()
        written = _with_time_written(history, self._written_records(seen)).group_by(POSITION)
        outputs = written.agg(pl.col("written").min(), pl.col("seen").min())
        inside = spans.join_where(
            outputs, pl.col("written") >= pl.col("start"), pl.col("written") <= pl.col("end")
        )
        first, last = pl.col("seen").min(), pl.col("seen").max()
        bounds = inside.group_by("batch").agg(earliest=first, latest=last)
        return bounds.with_columns(exact=pl.lit(False))

    def _written_records(self, seen: pl.DataFrame) -> pl.DataFrame:
        """The records that the job wrote and that name no input."""
        by_job = pl.col("topic").is_in(list(self.writes)) & pl.col("producer").is_null()
        return seen.filter(by_job)


def _first_seen(outputs: pl.DataFrame, named: pl.DataFrame) -> pl.DataFrame:
    """When the first output of each batch was seen: no earlier and no later than these times.

    The outputs of a batch are among those that may be of it, and those that are sure are of it.
    """
    by_name = named.drop_nulls("batch").select("seen", "batch", sure=pl.lit(True))
    either = pl.concat([outputs.select("seen", "batch", "sure"), by_name])
    seen = pl.col("seen")
    surely_by = seen.filter(pl.col("sure")).min()
    return either.group_by("batch").agg(
        earliest=seen.min(),
        latest=pl.coalesce(surely_by, seen.max()),
        exact=(seen.min() == surely_by).fill_null(False),
    )


def _batch_of(records: pl.DataFrame, ranges: pl.DataFrame) -> pl.Series:
    """The first batch that took each record; null if none did."""
    # A batch that takes nothing of a partition reports an empty range.
    taking = ranges.filter(pl.col("past") > pl.col("first"))
    range_key = ["topic", "partition", "first"]
    firsts = taking.unique(range_key, keep="first", maintain_order=True).sort("first")
    rows = records.select(*POSITION).with_row_index("row").sort("offset")
    nearest = rows.join_asof(
        firsts,
        left_on="offset",
        right_on="first",
        by=["topic", "partition"],
        check_sortedness=False,
    )
    inside = pl.when(pl.col("offset") < pl.col("past")).then("batch")
    return nearest.select("row", batch=inside).sort("row")["batch"]


def _short_batches(batches: list[Batch], taken: pl.Series) -> list[int]:
    """The batches that read fewer rows than there are records in their ranges, given the batch of
    each of these.
    """
    counts = taken.drop_nulls().value_counts()
    return [
        number
        for number, count in counts.iter_rows()
        if number >= 0 and batches[number].rows < count
    ]


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


def _all_ranges(history: History, component: str) -> pl.DataFrame:
    return pl.concat([ranges_of(history, component), unreported_ranges(history, component)])


def unreported_ranges(history: History, component: str) -> pl.DataFrame:
    """`ranges_of` batches that Spark did not report; `start` to `end` encloses when they ran.

    A query begins a batch once the one before is committed. So if a number is missing, that batch
    took the offsets between its neighbours. Spark 4.1 reports nothing about a batch that a killed
    driver had begun and a new one repeated. `batch` is negative, a number for each gap; a gap may
    be several batches.
    """
    rows = []
    for gap in _gaps(history, component):
        span = (gap.before.end, gap.after.start)
        for topic, partitions in gap.after.offsets.items():
            for partition, (past, _) in partitions.items():
                _, first = gap.before.offsets.get(topic, {}).get(partition, (0, 0))
                place = (gap.before.query, gap.number, topic, partition)
                rows.append((*place, first, past or 0, *span))
    ranges = pl.DataFrame(rows, schema=schema(), orient="row")
    return ranges.filter(pl.col("first") < pl.col("past"))


@dataclass(frozen=True, kw_only=True)
class _Gap:
    """Batches of a query that were not reported, between two that were."""

    number: int
    """Negative, for tables of batches."""
    before: Batch
    after: Batch


def _gaps(history: History, component: str) -> list[_Gap]:
    queries: dict[tuple[str, str], list[tuple[int, Batch]]] = defaultdict(list)
    for event in batches_of(history, component):
        if event.batch is not None:
            queries[event.query_id, event.query].append((event.batch, event))
    gaps: list[_Gap] = []
    for numbered in queries.values():
        numbered.sort(key=lambda entry: entry[0])
        for (number, before), (next_number, after) in pairwise(numbered):
            if next_number > number + 1:
                gaps.append(_Gap(number=-len(gaps) - 1, before=before, after=after))
    return gaps


def _numbers(history: History, component: str) -> dict[tuple[str, int], int]:
    """The number of each batch in tables of batches, by query id and the engine's number.

    A batch that was carried out twice has two reports, and the same inputs: the first one counts.
    """
    numbers: dict[tuple[str, int], int] = {}
    for number, event in enumerate(batches_of(history, component)):
        if event.batch is not None:
            numbers.setdefault((event.query_id, event.batch), number)
    for gap in _gaps(history, component):
        for batch in range((gap.before.batch or 0) + 1, gap.after.batch or 0):
            numbers[gap.before.query_id, batch] = gap.number
    return numbers


def times_taken(ranges: pl.DataFrame, records: pl.DataFrame) -> pl.Series:
    """How often batches took each record of one topic, given its `partition` and `offset`."""
    taken = pl.zeros(records.height, dtype=pl.Int64, eager=True)
    for (_, partition), part in ranges.group_by("query", "partition"):
        begun = part["first"].sort().search_sorted(records["offset"], side="right").cast(pl.Int64)
        done = part["past"].sort().search_sorted(records["offset"], side="right").cast(pl.Int64)
        taken += (begun - done) * (records["partition"] == partition).cast(pl.Int64)
    return taken.alias("times")
