"""Open question: the death of a leader."""

from __future__ import annotations

from collections.abc import Iterator

import altair as alt
import polars as pl

from studies.gateways import harness, judging, results
from studies.gateways.experiments import emulated
from studies.gateways.judging import Outcome, Statement

TITLE = "Death of a leader"
CLAIM = (
    "An open question of the thesis: fault tolerance by replicas; "
    "is a message lost when a leader dies?"
)
KILL = 'faults=[{kind: kill, at: 4s, lasts: 5s, target: "leader of traffic-counter/0"}]'
ELECTED = (
    "another broker leads as soon as the controller has noticed, "
    "and nobody waits for the killed one to be back"
)
ON_DISK = "the killed broker finds on its disk what it had acknowledged (a kill, not a power cut)"
CASES = {"1 replica": (1, 1), "3 replicas, 2 in sync": (3, 2)}


def rows(bench: harness.Bench, repetitions: int) -> Iterator[results.Row]:
    """The leading broker is killed under load and restarted after 5 s."""
    for repetition in range(repetitions):
        for case, (replicas, in_sync) in list(CASES.items())[-1:] if bench.quick else CASES.items():
            topic = "components.kafka.topics.traffic-counter"
            config = f"{topic}.config={{min.insync.replicas: {in_sync}}}"
            changes = (f"{topic}.replicas={replicas}", config, KILL)
            yield {
                "case": case,
                "repetition": repetition,
                **emulated.run(bench, repetition + 1, *changes),
            }


def table(measurements: pl.DataFrame) -> pl.DataFrame:
    """Lost records, and the longest wait."""
    counts = measurements.group_by("case").agg(pl.col("acked", "lost", "twice").sum())
    return results.points(measurements, ["case"], "longest_ms").join(
        counts, on="case", maintain_order="left"
    )


def chart(measurements: pl.DataFrame) -> alt.Chart:
    """The longest wait for an acknowledgement."""
    return results.bars(
        table(measurements),
        x="case",
        y="longest_ms",
        titles={"case": "", "longest_ms": "longest wait for an acknowledgement (ms)"},
    )


def statements(measurements: pl.DataFrame) -> list[Statement]:
    """Whether records are lost, and which protocol waits longer."""
    made, cases = [], measurements["case"].unique(maintain_order=True).to_list()
    for case in cases:
        lost, acked = (
            judging.values(measurements, "lost", case=case),
            int(measurements.filter(case=case)["acked"].sum()),
        )
        likely = {Outcome.INSIDE: ON_DISK} if case == "1 replica" else None
        says = f"{case}: no acknowledged record is lost ({sum(lost):.0f} of {acked:,})"
        made.append(judging.always(says, [each == 0 for each in lost], likely))
    if len(cases) > 1:
        of, to = ({"case": case} for case in (cases[-1], cases[0]))
        changes, likely = (
            judging.changes(measurements, "longest_ms", of, to),
            {Outcome.INSIDE: ELECTED},
        )
        says = (
            "the longest wait for an acknowledgement is shorter "
            f"with {cases[-1]} than with {cases[0]}"
        )
        made.append(
            Statement(says=says, values=changes, most=0.0, show=judging.change, likely=likely)
        )
    return made


def verdict(measurements: pl.DataFrame) -> str:
    """Whether records are lost."""
    sentences = [
        f"{row['case']}: longest wait {row['longest_ms'] / 1000:.1f} s"
        for row in table(measurements).iter_rows(named=True)
    ]
    return judging.told(
        f"{'; '.join(sentences)}. One record in 200 of a trace is sent twice by its gateway.",
        statements(measurements),
    )
