"""The way of a record through a Spark job: from when the input was due until a consumer first saw an output of its batch.

    due ──▶ sent ──▶ offset o of a topic that the job reads
                       │  the batch whose offset range contains o
                       ▼
                     outputs written, by Kafka's timestamp, between that batch's start and end ──▶ first one seen

An input that another job wrote has no due time: it takes the earliest one among the inputs of the batch that wrote it. Of a job
with several queries that run at the same time, outputs go to the batch that began last.
"""

from __future__ import annotations

import polars as pl

from streambed.history import WITNESS, History
from streambed.kinds.checks.batches import ranges_of
from streambed.kinds.checks.readers import topics_in

PLACE = ["topic", "partition", "offset"]
TICK_NS = 1_000_000
"""Kafka's timestamps are whole milliseconds, rounded down."""


def through_spark(history: History, component: str) -> pl.DataFrame:
    """The inputs of a job that led to an output that was seen: topic, partition, offset, due, seen."""
    return inputs_and_sights(history, component).drop_nulls("seen").select(*PLACE, "due", "seen")


def inputs_and_sights(history: History, component: str) -> pl.DataFrame:
    """All inputs of a job: `batch` is null if no batch took one, `seen` if nobody saw an output of its batch."""
    seen = history.ledger.seen.filter(pl.col("consumer") != WITNESS)
    first = _outputs(history, component, seen).group_by("batch").agg(pl.col("seen").min())
    return _inputs(history, component, below=frozenset()).join(first, on="batch", how="left").select(*PLACE, "batch", "due", "seen")


def intermediate_topics(components: dict[str, dict[str, object]], component: str) -> tuple[str, ...]:
    """The topics between a job and the jobs before it, back to the first: their records carry no due time of their own."""
    jobs = {name: found for name, found in components.items() if found["kind"] == "spark_job"}
    found: dict[str, None] = {}
    pending, done = [component], set()
    while pending:
        job = pending.pop()
        done.add(job)
        for writer, declared in jobs.items():
            shared = [topic for topic in topics_in(declared.get("writes")) if topic in topics_in(jobs.get(job, {}).get("reads"))]
            found |= dict.fromkeys(shared)
            pending += [writer] if shared and writer not in done else []
    return tuple(found)


def _inputs(history: History, job: str, *, below: frozenset[str]) -> pl.DataFrame:
    """Every record with a due time that a job could read, and the batch that took it. Jobs in `below` asked, and are not asked back."""
    ranges = ranges_of(history, job)
    reads = {*ranges["topic"], *topics_in(history.components("spark_job").get(job, {}).get("reads"))}
    dues = _dues(history, reads, below=below | {job}).sort("offset")
    taking = ranges.filter(pl.col("past") > pl.col("first"))  # A batch that takes nothing of a partition names its next offset too.
    firsts = taking.unique(["topic", "partition", "first"], keep="first", maintain_order=True).sort("first")
    taken = dues.join_asof(firsts, left_on="offset", right_on="first", by=["topic", "partition"], check_sortedness=False)
    return taken.with_columns(batch=pl.when(pl.col("offset") < pl.col("past")).then("batch")).select(*PLACE, "due", "batch")


def _dues(history: History, topics: set[str], *, below: frozenset[str]) -> pl.DataFrame:
    """When each record of these topics was due, whether a producer or a Spark job wrote it."""
    sent = history.ledger.sent.filter(pl.col("topic").is_in(list(topics)) & (pl.col("offset") >= 0)).select(*PLACE, "due")
    writers = [
        job
        for job, declared in history.components("spark_job").items()
        if topics & set(topics_in(declared.get("writes"))) and job not in below
    ]
    written = [_written(history, job, topics, below=below) for job in writers]
    return pl.concat([sent, *written]).group_by(PLACE).agg(pl.col("due").min())


def _written(history: History, job: str, topics: set[str], *, below: frozenset[str]) -> pl.DataFrame:
    dues = _inputs(history, job, below=below).drop_nulls("batch").group_by("batch").agg(pl.col("due").min())
    known = history.ledger.seen.filter(pl.col("topic").is_in(list(topics))).unique(PLACE)  # The witness' reading counts here.
    return _outputs(history, job, known).join(dues, on="batch").select(*PLACE, "due")


def _outputs(history: History, job: str, seen: pl.DataFrame) -> pl.DataFrame:
    """Which of the records seen a job wrote, and in which batch: by when Kafka says they were written."""
    writes = topics_in(history.components("spark_job").get(job, {}).get("writes"))
    candidates = seen.filter(pl.col("topic").is_in(list(writes)) & pl.col("producer").is_null())
    spans = ranges_of(history, job).select("batch", "start", "end").unique("batch").sort("start")
    written = _written_at(history, candidates).with_columns(latest=pl.col("written") + TICK_NS).sort("latest")
    within = written.join_asof(spans, left_on="latest", right_on="start").filter(pl.col("written") <= pl.col("end") + TICK_NS)
    return within.select(*PLACE, "seen", "batch")


def _written_at(history: History, seen: pl.DataFrame) -> pl.DataFrame:
    """Kafka's wall-clock timestamps as monotonic time, by the nearest reading of both clocks."""
    readings = [(event.fields["wall_ns"], event.time) for event in history.of("clock")]
    clocks = pl.DataFrame(readings, schema={"wall_ns": pl.Int64, "time": pl.Int64}, orient="row").sort("wall_ns")
    walls = seen.with_columns(wall=pl.col("timestamp") * TICK_NS).sort("wall")
    nearest = walls.join_asof(clocks, left_on="wall", right_on="wall_ns", strategy="nearest").drop_nulls("time")
    return nearest.with_columns(written=pl.col("time") + pl.col("wall") - pl.col("wall_ns"))
