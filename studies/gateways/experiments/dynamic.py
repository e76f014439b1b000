"""Open question: source rates that change, with and without a limit of each batch."""

from __future__ import annotations

import time

import altair as alt
import harness
import numpy as np
import polars as pl
import results

from gateway_traffic.ingest.forwarder import make_topics
from gateway_traffic.records import Version

TITLE = "Changing source rates, with and without `maxOffsetsPerTrigger`"
CLAIM = (
    "An open question of the thesis: whether to enable back-pressure for changing source rates; it may lengthen latency. "
    "Structured Streaming has `maxOffsetsPerTrigger` in its place."
)
CALM, SPIKE, LIMIT = 2_000, 30_000, 10_000


def course(elapsed_s: float, quick: bool) -> float:
    """Records a second: calm, a spike, calm."""
    begin, end = (1.0, 2.0) if quick else (5.0, 9.0)
    return (SPIKE if begin <= elapsed_s < end else CALM) / (10 if quick else 1)


def rows(bench: harness.Bench, repetitions: int) -> pl.DataFrame:
    """The same course of rates, each batch limited or not; batches of 1 s."""
    spike_s, whole_s = (1.0, 3.0) if bench.quick else (4.0, 18.0)
    count = int((SPIKE * spike_s + CALM * (whole_s - spike_s)) / (10 if bench.quick else 1))
    records = harness.payloads(Version.COUNTER, "json.2", count)
    harness.warm_up(bench, Version.COUNTER)
    found = []
    for repetition in range(repetitions):
        for limit in (0, LIMIT):
            topic = f"dynamic-{bench.fresh('dynamic').name}"
            make_topics(bench.broker.bootstrap, [topic, f"{topic}-dead"], partitions=2, replicas=1, within_s=30.0)
            with harness.query(bench, topic, Version.COUNTER, trigger="1 second", offsets_per_batch=limit) as running:
                harness.wait(lambda running=running: bool(running.recentProgress), running)
                began_s = time.time()
                with harness.feeding(bench.broker.bootstrap, topic, records, lambda at: course(at, bench.quick)):
                    pass
                fed_s = time.time()
                harness.wait(lambda running=running: sum(batch.rows for batch in harness.batches_of(running)) >= count, running)
                batches = harness.batches_of(running)
            longest = max(batch.seconds for batch in batches)
            row = {
                "limit": limit,
                "repetition": repetition,
                "longest_batch_s": longest,
                "largest_batch": max(batch.rows for batch in batches),
            }
            found.append(row | {"latency_s": latency(batches, began_s, bench.quick), "caught_up_s": max(0.0, batches[-1].ended_s - fed_s)})
    return pl.DataFrame(found)


def latency(batches: list[harness.Batch], began_s: float, quick: bool) -> float:
    """The longest that a record waited from when it was due until its batch had ended."""
    due, at, waits = np.cumsum([course(step / 10, quick) / 10 for step in range(600)]), 0, []
    for batch in batches:
        first_s = float(np.searchsorted(due, at + 1)) / 10
        waits.append(batch.ended_s - began_s - first_s)
        at += batch.rows
    return max(waits)


def table(found: pl.DataFrame) -> pl.DataFrame:
    """Means of both cases."""
    names = ["longest_batch_s", "largest_batch", "latency_s", "caught_up_s"]
    return found.group_by("limit", maintain_order=True).agg(pl.len().alias("repetitions"), pl.col(names).mean())


def chart(found: pl.DataFrame) -> alt.Chart:
    """Longest batch and longest latency, with and without the limit."""
    long = pl.concat(
        [
            results.points(found, ["limit"], value).select(
                pl.format("{}, {}", pl.lit(name), pl.when(pl.col("limit") > 0).then(pl.lit("limited")).otherwise(pl.lit("not"))).alias(
                    "case"
                ),
                pl.col(value).alias("seconds"),
                pl.col("low").cast(pl.Float64),
                pl.col("high").cast(pl.Float64),
            )
            for value, name in (("longest_batch_s", "longest batch"), ("latency_s", "longest latency"))
        ]
    )
    return results.bars(long, x="case", y="seconds", titles={"case": "", "seconds": "seconds"})


def verdict(found: pl.DataFrame) -> str:
    """With the limit and without."""
    free, limited = (table(found).filter(pl.col("limit") == limit).row(0, named=True) for limit in (0, LIMIT))
    return (
        f"A spike of {SPIKE:,}/s in a stream of {CALM:,}/s: without a limit the longest batch takes {free['longest_batch_s']:.1f} s "
        f"({free['largest_batch']:,.0f} records) and the longest latency is {free['latency_s']:.1f} s; with "
        f"{LIMIT:,} records a batch at most it is "
        f"{limited['longest_batch_s']:.1f} s and {limited['latency_s']:.1f} s. The limit bounds what a batch needs of memory and "
        "time; what waits is kept by Kafka either way, and the cost of a record falls as batches grow, so that a limit can cost latency."
    )
