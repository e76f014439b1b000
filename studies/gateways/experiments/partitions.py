"""4.5: partitions, and tasks that read apart from them."""

from __future__ import annotations

import altair as alt
import harness
import polars as pl
import results

from gateway_traffic.records import Version

TITLE = "4.5 Partitions"
CLAIM = (
    "The input rate is the same with 1 to 3 partitions; the batch time falls as they grow, because reading and processing are as parallel "
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
"""Partitions of the topic, tasks that read if others than these, and tasks after the shuffle."""


def rows(bench: harness.Bench, repetitions: int) -> pl.DataFrame:
    """The same records over one, two and three partitions."""
    rates, count = ([400], 1) if bench.quick else ([1200, 10000], 3)
    needed = max(rates) * INTERVAL_S * (harness.WARM + count)
    harness.warm_up(bench)
    found = []
    for repetition in range(repetitions):
        for rate in rates:
            for case, (partitions, least, shuffle) in CASES.items():
                topic = bench.topic(Version.CUMULATIVE, "json.2", partitions, needed)
                size = rate * INTERVAL_S
                times = harness.timed_batches(
                    bench, topic, Version.CUMULATIVE, size=size, count=count, shuffle=shuffle, least_partitions=least
                )
                found.append({"case": case, "rate": rate, "repetition": repetition, "batch_s": sum(times) / len(times)})
    return pl.DataFrame(found)


def table(found: pl.DataFrame) -> pl.DataFrame:
    """Points with intervals."""
    return results.points(found, ["case", "rate"], "batch_s").sort("rate", maintain_order=True)


def chart(found: pl.DataFrame) -> alt.Chart:
    """A bar for each case at the highest rate."""
    highest = int(found["rate"].max())
    titles = {"case": "", "batch_s": f"batch time (s) at {highest:,} records/s, batches of 5 s"}
    return results.bars(table(found).filter(pl.col("rate") == highest), x="case", y="batch_s", titles=titles)


def verdict(found: pl.DataFrame) -> str:
    """What a second and a third partition bring."""
    top = found.filter(pl.col("rate") == found["rate"].max())
    mean = {case: float(top.filter(pl.col("case") == case)["batch_s"].mean() or 0) for case in CASES}
    one = mean["1 partition"]
    said = [f"{case}: {time:.2f} s ({time / one - 1:+.0%})" for case, time in mean.items() if case != "1 partition"]
    return (
        f"Measured at {int(found['rate'].max()):,}/s: 1 partition {one:.2f} s; {'; '.join(said)}. There are "
        f"two cores here, so that a third task "
        "cannot gain; `minPartitions` splits the reading of one partition over tasks, which the thesis's direct stream could not."
    )
