"""4.2: versions and input rate."""

from __future__ import annotations

import altair as alt
import harness
import polars as pl
import results

from gateway_traffic.records import Version

TITLE = "4.2 Versions of the records"
CLAIM = (
    "The batch time of *counter* is about 30 % below that of *cumulative* and *rate*, which are alike; the gap grows with the rate, "
    "to about 40 % at 1,200 records/s. JSON, 3 partitions, batches of 5 s."
)
INTERVAL_S = 5


def rows(bench: harness.Bench, repetitions: int) -> pl.DataFrame:
    """Batches of as many records as come in 5 s at each rate."""
    rates, count = ([400, 1200], 1) if bench.quick else ([450, 1200, 5000, 10000], 3)
    needed = max(rates) * INTERVAL_S * (harness.WARM + count)
    found = []
    for version in Version:
        harness.warm_up(bench, version)
    for repetition in range(repetitions):
        for rate in rates:
            for version in Version:
                topic = bench.topic(version, "json.2", 3, needed)
                times = harness.timed_batches(bench, topic, version, size=rate * INTERVAL_S, count=count)
                found += [{"version": str(version), "rate": rate, "repetition": repetition, "batch_s": sum(times) / len(times)}]
    return pl.DataFrame(found)


def table(found: pl.DataFrame) -> pl.DataFrame:
    """Points with intervals."""
    return results.points(found, ["version", "rate"], "batch_s").sort("version", "rate")


def chart(found: pl.DataFrame) -> alt.Chart:
    """Batch time over rate."""
    titles = {"rate": "records a second", "batch_s": "batch time (s), batches of 5 s"}
    return results.lines(table(found), x="rate", y="batch_s", color="version", titles=titles)


def verdict(found: pl.DataFrame) -> str:
    """How far counter is ahead, at the lowest, the thesis's and the highest rate."""
    said = []
    for rate in sorted({int(found["rate"].min()), 1200, int(found["rate"].max())}):
        means = {
            name: float(found.filter((pl.col("rate") == rate) & (pl.col("version") == name))["batch_s"].mean() or 0) for name in Version
        }
        gaps = {name: 1 - means["counter"] / means[name] for name in ("cumulative", "rate")}
        said.append(
            f"at {rate:,}/s *counter* takes {gaps['cumulative']:.0%} less than *cumulative* and {gaps['rate']:.0%} less than *rate*"
        )
    return (
        f"Measured: {'; '.join(said)}. All three remove duplicates by state here, which the thesis's *counter* did not, and what a batch "
        "costs whatever is in it (planning, checkpoint, commit) is most of the time at low rates, so that gaps show at high ones."
    )
