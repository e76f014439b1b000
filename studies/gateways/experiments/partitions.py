"""4.5: partitions, and reading tasks independent of them."""

from __future__ import annotations

from collections.abc import Iterator

import altair as alt
import polars as pl

from gateway_traffic.records import Version
from studies.gateways import harness, judging, results
from studies.gateways.judging import Outcome, Statement

TITLE = "4.5 Partitions"
CLAIM = (
    "The input rate is the same with 1 to 3 partitions; the batch time falls as they grow, because "
    "reading and processing are as parallel "
    "as the topic has partitions. *Cumulative*, JSON, batches of 5 s."
)
INTERVAL_S = 5
CASES = {
    "1 partition": (1, 0, 1),
    "2 partitions": (2, 0, 2),
    "3 partitions": (3, 0, 3),
    "1, minPartitions 2": (1, 2, 2),
    "1, minPartitions 3": (1, 3, 3),
}
"""Partitions of the topic, reading tasks if they differ from these, and tasks after the shuffle."""
TWO_CORES = "there are two cores here, which a third task has to share"
FEW = "a task costs more to start than so few records take to compute"


def rows(bench: harness.Bench, repetitions: int) -> Iterator[results.Row]:
    """The same records over one, two and three partitions."""
    rates = [400] if bench.quick else [1200, 10000]
    needed = bench.needed(max(rates) * INTERVAL_S)
    harness.warm_up(bench)
    for repetition in bench.rounds(repetitions):
        for rate in rates:
            for case, (partitions, least, shuffle) in CASES.items():
                topic = bench.topic(Version.CUMULATIVE, "json.2", partitions, needed)
                size = rate * INTERVAL_S
                seconds = harness.batch_s(
                    bench,
                    topic,
                    Version.CUMULATIVE,
                    size=size,
                    shuffle=shuffle,
                    least_partitions=least,
                )
                yield {"case": case, "rate": rate, "repetition": repetition, "batch_s": seconds}


def table(measurements: pl.DataFrame) -> pl.DataFrame:
    """Points with intervals."""
    return results.points(measurements, ["case", "rate"], "batch_s").sort(
        "rate", maintain_order=True
    )


def chart(measurements: pl.DataFrame) -> alt.Chart:
    """A bar for each case at the highest rate."""
    highest = int(measurements["rate"].max())
    titles = {"case": "", "batch_s": f"batch time (s) at {highest:,} records/s, batches of 5 s"}
    return results.bars(
        table(measurements).filter(pl.col("rate") == highest), x="case", y="batch_s", titles=titles
    )


def statements(measurements: pl.DataFrame) -> list[Statement]:
    """The effect of more partitions, and whether more reading tasks have the same effect."""
    made = []
    for rate in measurements["rate"].unique().sort():
        for more, fewer, reason in (
            ("2 partitions", "1 partition", FEW),
            ("3 partitions", "2 partitions", TWO_CORES),
        ):
            changes = judging.changes(
                measurements, "batch_s", {"case": more, "rate": rate}, {"case": fewer, "rate": rate}
            )
            says = f"at {rate:,}/s a batch is shorter with {more} than with {fewer}"
            made.append(
                Statement(
                    says=says,
                    values=changes,
                    most=0.0,
                    show=judging.change,
                    likely={Outcome.ABOVE: reason},
                )
            )
    highest = int(measurements["rate"].max())
    for tasks in (2, 3):
        of, to = (
            {"case": f"1, minPartitions {tasks}", "rate": highest},
            {"case": f"{tasks} partitions", "rate": highest},
        )
        says = (
            f"at {highest:,}/s one partition read by {tasks} tasks (`minPartitions`) "
            f"takes as long as {tasks} partitions"
        )
        made.append(judging.alike(says, judging.ratios(measurements, "batch_s", of, to)))
    return made


def verdict(measurements: pl.DataFrame) -> str:
    """The effect of a second and a third partition."""
    intro = (
        "That the input rate is the same is not measured: a batch takes as many records here as "
        "would come. `minPartitions` splits the "
        "reading of a partition, which the thesis's direct stream could not."
    )
    return judging.told(intro, statements(measurements))
