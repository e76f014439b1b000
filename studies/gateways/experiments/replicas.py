"""Open question: replicas."""

from __future__ import annotations

from collections.abc import Iterator

import altair as alt
import polars as pl

from studies.gateways import harness, judging, results
from studies.gateways.experiments import emulated
from studies.gateways.judging import Outcome, Statement

TITLE = "Replicas"
CLAIM = "An open question of the thesis: its topics had no replicas; what do they cost?"
FETCHES = "a follower fetches a record over 2 ms each way before it is acknowledged"


def rows(bench: harness.Bench, repetitions: int) -> Iterator[results.Row]:
    """The same load with one and with three replicas; `acks=all`."""
    for repetition in range(repetitions):
        for replicas in (1,) if bench.quick else (1, 3):
            change = f"components.kafka.topics.traffic-counter.replicas={replicas}"
            yield {
                "replicas": replicas,
                "repetition": repetition,
                **emulated.run(bench, repetition + 1, change),
            }


def table(measurements: pl.DataFrame) -> pl.DataFrame:
    """Points with intervals."""
    tails = measurements.group_by("replicas").agg(pl.col("p99_ms").mean(), pl.col("lost").sum())
    return (
        results.points(measurements, ["replicas"], "p50_ms")
        .join(tails, on="replicas")
        .sort("replicas")
    )


def chart(measurements: pl.DataFrame) -> alt.Chart:
    """Time to the acknowledgement."""
    titles = {"replicas": "replicas", "p50_ms": "due to acknowledged, median (ms)"}
    return results.bars(table(measurements), x="replicas", y="p50_ms", titles=titles)


def statements(measurements: pl.DataFrame) -> list[Statement]:
    """Whether replicas add latency, and whether records are lost without a fault."""
    made, numbers = [], measurements["replicas"].unique().sort()
    for more in numbers[1:]:
        for value, name in (("p50_ms", "median"), ("p99_ms", "99th percentile")):
            pairs = zip(
                judging.values(measurements, value, replicas=more),
                judging.values(measurements, value, replicas=numbers[0]),
                strict=True,
            )
            says = (
                f"{more} replicas lengthen the time to an acknowledgement ({name}) "
                f"over {numbers[0]}"
            )
            likely = {Outcome.INSIDE: FETCHES}
            late = [after - before for after, before in pairs]
            made.append(
                Statement(
                    says=says, values=late, least=0.0, show="{:+.1f} ms".format, likely=likely
                )
            )
    lost = measurements.group_by("repetition").agg(pl.col("lost").sum()).sort("repetition")["lost"]
    return [
        *made,
        judging.always(
            f"no acknowledged record is lost ({lost.sum()} of {measurements['acked'].sum():,})",
            [each == 0 for each in lost],
        ),
    ]


def verdict(measurements: pl.DataFrame) -> str:
    """The latency that each replica adds."""
    sentences = [
        f"{row['replicas']}: {row['p50_ms']:.1f} ms (p99 {row['p99_ms']:.0f} ms)"
        for row in table(measurements).iter_rows(named=True)
    ]
    intro = (
        "600 records/s, brokers 1 ms from the exchange, homes 10 ms: median from due to "
        "acknowledged by number of replicas "
        f"{'; '.join(sentences)}."
    )
    return judging.told(intro, statements(measurements))
