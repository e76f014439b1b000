"""Open question: replicas."""

from __future__ import annotations

import altair as alt
import harness
import polars as pl
import results

from experiments import emulated

TITLE = "Replicas"
CLAIM = "An open question of the thesis: its topics had no replicas; what do they cost?"


def rows(bench: harness.Bench, repetitions: int) -> pl.DataFrame:
    """The same load with one, two and three replicas; `acks=all`."""
    found = []
    for repetition in range(repetitions):
        for replicas in (1,) if bench.quick else (1, 2, 3):
            change = f"components.kafka.topics.traffic-counter.replicas={replicas}"
            found.append({"replicas": replicas, "repetition": repetition, **emulated.run(bench, repetition + 1, change)})
    return pl.DataFrame(found)


def table(found: pl.DataFrame) -> pl.DataFrame:
    """Points with intervals."""
    tails = found.group_by("replicas").agg(pl.col("p99_ms").mean(), pl.col("lost").sum())
    return results.points(found, ["replicas"], "p50_ms").join(tails, on="replicas").sort("replicas")


def chart(found: pl.DataFrame) -> alt.Chart:
    """Time to the acknowledgement."""
    titles = {"replicas": "replicas", "p50_ms": "due to acknowledged, median (ms)"}
    return results.bars(table(found), x="replicas", y="p50_ms", titles=titles)


def verdict(found: pl.DataFrame) -> str:
    """What each replica adds."""
    said = [f"{row['replicas']}: {row['p50_ms']:.1f} ms (p99 {row['p99_ms']:.0f} ms)" for row in table(found).iter_rows(named=True)]
    return (
        f"Measured at 600 records/s, brokers 1 ms from the exchange, homes 10 ms: median from due to acknowledged by number of replicas "
        f"{'; '.join(said)}. A follower fetches over the network before an acknowledgement, which is at least 4 ms here."
    )
