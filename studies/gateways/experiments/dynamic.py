"""Open question: changing source rates, with and without a limit on batches."""

from __future__ import annotations

import time
from collections.abc import Iterator

import altair as alt
import numpy as np
import polars as pl

from gateway_traffic.ingest.forwarder import make_topics
from gateway_traffic.records import Version
from studies.gateways import harness, judging, results
from studies.gateways.judging import Outcome, Statement

TITLE = "Changing source rates, with and without `maxOffsetsPerTrigger`"
CLAIM = (
    "An open question of the thesis: whether to enable back-pressure for changing source rates; it "
    "may lengthen latency. "
    "Structured Streaming has `maxOffsetsPerTrigger` in its place."
)
CALM, SPIKE, LIMIT = 2_000, 30_000, 10_000
SMALLER = 10
"""Factor by which all three are smaller in the quick form."""
CHEAPER = "the cost of a record falls as batches grow"


def course(elapsed_s: float, quick: bool) -> float:
    """Records per second: calm, a spike, calm."""
    begin, end = (1.0, 2.0) if quick else (5.0, 9.0)
    return (SPIKE if begin <= elapsed_s < end else CALM) / (SMALLER if quick else 1)


def rows(bench: harness.Bench, repetitions: int) -> Iterator[results.Row]:
    """The same course of rates, with and without a limit on batches; batches of 1 s."""
    spike_s, whole_s = (1.0, 3.0) if bench.quick else (4.0, 15.0)
    smaller = SMALLER if bench.quick else 1
    sizes = {"calm_per_s": CALM // smaller, "spike_per_s": SPIKE // smaller}
    count = int(sizes["spike_per_s"] * spike_s + sizes["calm_per_s"] * (whole_s - spike_s))
    records = harness.payloads(Version.COUNTER, "json.2", count)
    harness.warm_up(bench, Version.COUNTER)
    for repetition in range(repetitions):
        for limit in (0, LIMIT // smaller):
            topic = f"dynamic-{bench.fresh('dynamic').name}"
            make_topics(
                bench.broker.bootstrap,
                [topic, f"{topic}-dead"],
                partitions=2,
                replicas=1,
                within_s=30.0,
            )
            with harness.query(
                bench, topic, Version.COUNTER, trigger="1 second", offsets_per_batch=limit
            ) as running:
                harness.wait(lambda running=running: bool(running.recentProgress), running)
                began_s = time.time()
                with harness.feeding(
                    bench.broker.bootstrap, topic, records, lambda at: course(at, bench.quick)
                ):
                    pass
                fed_s = time.time()
                harness.wait(
                    lambda running=running: (
                        sum(batch.rows for batch in harness.batches_of(running)) >= count
                    ),
                    running,
                )
                batches = harness.batches_of(running)
            longest = max(batch.seconds for batch in batches)
            row = {"limit": limit, "repetition": repetition, "longest_batch_s": longest} | sizes
            row |= {
                "largest_batch": max(batch.rows for batch in batches),
                "latency_s": latency(batches, began_s, bench.quick),
            }
            yield row | {"caught_up_s": max(0.0, batches[-1].ended_s - fed_s)}


def latency(batches: list[harness.Batch], began_s: float, quick: bool) -> float:
    """The longest time from a record's due time to the end of its batch."""
    due, at, waits = np.cumsum([course(step / 10, quick) / 10 for step in range(600)]), 0, []
    for batch in batches:
        first_s = float(np.searchsorted(due, at + 1)) / 10
        waits.append(batch.ended_s - began_s - first_s)
        at += batch.rows
    return max(waits)


def table(measurements: pl.DataFrame) -> pl.DataFrame:
    """Means of both cases."""
    names = ["longest_batch_s", "largest_batch", "latency_s", "caught_up_s"]
    return measurements.group_by("limit", maintain_order=True).agg(
        pl.len().alias("repetitions"), pl.col(names).mean()
    )


def chart(measurements: pl.DataFrame) -> alt.Chart:
    """Longest batch and longest latency, with and without the limit."""
    long = pl.concat(
        [
            results.points(measurements, ["limit"], value).select(
                pl.format(
                    "{}, {}",
                    pl.lit(name),
                    pl.when(pl.col("limit") > 0).then(pl.lit("limited")).otherwise(pl.lit("not")),
                ).alias("case"),
                pl.col(value).alias("seconds"),
                pl.col("low").cast(pl.Float64),
                pl.col("high").cast(pl.Float64),
            )
            for value, name in (
                ("longest_batch_s", "longest batch"),
                ("latency_s", "longest latency"),
            )
        ]
    )
    return results.bars(long, x="case", y="seconds", titles={"case": "", "seconds": "seconds"})


def statements(measurements: pl.DataFrame) -> list[Statement]:
    """The effect of the limit on batches and latency."""
    limit = int(measurements["limit"].max())
    limited, free = {"limit": limit}, {"limit": 0}
    longest, latency = (
        judging.changes(measurements, value, limited, free)
        for value in ("longest_batch_s", "latency_s")
    )
    largest = judging.values(measurements, "largest_batch", **limited)
    return [
        judging.always(
            f"no batch is larger than {limit:,} records with the limit",
            [each <= limit for each in largest],
        ),
        Statement(
            says="the limit shortens the longest batch",
            values=longest,
            most=0.0,
            show=judging.change,
        ),
        Statement(
            says="the limit lengthens the longest latency",
            values=latency,
            least=0.0,
            show=judging.change,
            likely={Outcome.INSIDE: CHEAPER},
        ),
    ]


def verdict(measurements: pl.DataFrame) -> str:
    """With the limit and without."""
    sentences = [
        f"{'with' if row['limit'] else 'without'} the limit the longest batch takes "
        f"{row['longest_batch_s']:.1f} s ({row['largest_batch']:,.0f} records) and the longest "
        f"latency is {row['latency_s']:.1f} s"
        for row in table(measurements).iter_rows(named=True)
    ]
    spike, calm = int(measurements["spike_per_s"].max()), int(measurements["calm_per_s"].max())
    limit = measurements["limit"].max()
    intro = (
        f"A spike of {spike:,}/s in a stream of {calm:,}/s, a limit of {limit:,} records a batch: "
        f"{'; '.join(sentences)}."
    )
    return judging.told(intro, statements(measurements))
