"""Open question: the death of a leader."""

from __future__ import annotations

import altair as alt
import harness
import polars as pl
import results

from experiments import emulated

TITLE = "Death of a leader"
CLAIM = "An open question of the thesis: fault tolerance by replicas; is a message lost when a leader dies?"
KILL = 'faults=[{kind: kill, at: 4s, lasts: 5s, target: "leader of traffic-counter/0"}]'
CASES = {"1 replica": (1, 1), "3 replicas, 2 in sync": (3, 2)}


def rows(bench: harness.Bench, repetitions: int) -> pl.DataFrame:
    """The broker that leads is killed under load and comes back after 5 s."""
    found = []
    for repetition in range(repetitions):
        for case, (replicas, in_sync) in list(CASES.items())[-1:] if bench.quick else CASES.items():
            topic = "components.kafka.topics.traffic-counter"
            config = f"{topic}.config={{min.insync.replicas: {in_sync}}}"
            changes = (f"{topic}.replicas={replicas}", config, KILL)
            found.append({"case": case, "repetition": repetition, **emulated.run(bench, repetition + 1, *changes)})
    return pl.DataFrame(found)


def table(found: pl.DataFrame) -> pl.DataFrame:
    """Lost records, and the longest wait."""
    counts = found.group_by("case").agg(pl.col("acked", "lost", "twice").sum())
    return results.points(found, ["case"], "longest_ms").join(counts, on="case")


def chart(found: pl.DataFrame) -> alt.Chart:
    """The longest wait for an acknowledgement."""
    return results.bars(
        table(found), x="case", y="longest_ms", titles={"case": "", "longest_ms": "longest wait for an acknowledgement (ms)"}
    )


def verdict(found: pl.DataFrame) -> str:
    """Lost or not."""
    said = [
        f"{row['case']}: {row['lost']} of {row['acked']:,} acknowledged records lost, longest wait {row['longest_ms'] / 1000:.1f} s"
        for row in table(found).iter_rows(named=True)
    ]
    return (
        f"Measured: {'; '.join(said)}. With one replica the partition is away until its broker is back, and its disk still has what was "
        "acknowledged (a kill, not a power cut); with three another broker leads after the controller has noticed. Those in the log "
        "twice are the gateways' own: one record in 200 of a trace is sent twice."
    )
