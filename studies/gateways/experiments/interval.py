"""4.6: batch interval and partitions, the stable line, and the shortest stable interval."""

from __future__ import annotations

import time

import altair as alt
import harness
import numpy as np
import polars as pl
import results

from gateway_traffic.ingest.forwarder import make_topics
from gateway_traffic.records import Version
from streambed.statistics import student

TITLE = "4.6 Batch interval"
CLAIM = (
    "Batch time grows about linearly with the interval; the shortest stable interval is about 1 s with one partition, below 1 s with "
    "two and three. *Cumulative*, JSON, 1,200 records/s."
)
RATE = 5000
TRIED_S = (0.1, 0.2, 0.4, 0.8, 1.6)
"""Intervals among which the shortest stable one is searched for."""
PROBE_S = 10.0
WARM_S = 3.0


def rows(bench: harness.Bench, repetitions: int) -> pl.DataFrame:
    """Batch times of what comes in an interval; then, with records that keep coming, the shortest interval that is stable."""
    intervals, rate, parts = ((1.0,), 1000, (1,)) if bench.quick else ((0.5, 1.0, 2.0, 4.0), RATE, (1, 2, 3))
    count = 1 if bench.quick else 3
    needed = int(rate * max(intervals) * (harness.WARM + count))
    harness.warm_up(bench)
    found = []
    for repetition in range(repetitions):
        for partitions in parts:
            topic = bench.topic(Version.CUMULATIVE, "json.2", partitions, needed)
            for interval_s in intervals:
                times = harness.timed_batches(
                    bench, topic, Version.CUMULATIVE, size=int(rate * interval_s), count=count, shuffle=partitions
                )
                row = {"partitions": partitions, "interval_s": interval_s, "repetition": repetition, "measure": "batch"}
                found.append(row | {"seconds": sum(times) / len(times)})
            shortest = TRIED_S[-1:] if bench.quick else TRIED_S
            row = {"partitions": partitions, "interval_s": 0.0, "repetition": repetition, "measure": "shortest"}
            found.append(row | {"seconds": shortest_stable(bench, partitions, rate, shortest)})
    return pl.DataFrame(found)


def shortest_stable(bench: harness.Bench, partitions: int, rate: int, tried_s: tuple[float, ...]) -> float:
    """By halving; infinite if none is stable."""
    low, high = 0, len(tried_s)
    while low < high:
        middle = (low + high) // 2
        if stable(bench, partitions, rate, tried_s[middle]):
            high = middle
        else:
            low = middle + 1
    return tried_s[low] if low < len(tried_s) else float("inf")


def stable(bench: harness.Bench, partitions: int, rate: int, interval_s: float) -> bool:
    """Batches fit into the interval at the median, and the lag's slope is not above zero by its 95 % interval."""
    probe_s = 4.0 if bench.quick else PROBE_S
    topic = f"live-{bench.fresh('live').name}"
    make_topics(bench.broker.bootstrap, [topic, f"{topic}-dead"], partitions=partitions, replicas=1, within_s=30.0)
    records = harness.payloads(Version.CUMULATIVE, "json.2", int(rate * probe_s))
    options = {"trigger": f"{int(interval_s * 1000)} milliseconds", "shuffle": partitions}
    with harness.query(bench, topic, Version.CUMULATIVE, **options) as running:
        harness.wait(lambda: bool(running.recentProgress), running)
        with harness.feeding(bench.broker.bootstrap, topic, records, lambda _: rate) as feeder:
            began_s = time.time()
            harness.wait(lambda: not feeder.is_alive(), running)
        batches = [batch for batch in harness.batches_of(running) if began_s + WARM_S < batch.ended_s < began_s + probe_s]
    return bool(batches) and float(np.median([batch.seconds for batch in batches])) <= interval_s and not _grows(batches, rate, began_s)


def _grows(batches: list[harness.Batch], rate: int, began_s: float) -> bool:
    """Whether what was sent and not yet processed grows, for sure."""
    if len(batches) < 4:
        return False
    times = np.array([batch.ended_s - began_s for batch in batches])
    lag = rate * times - np.cumsum([batch.rows for batch in batches])
    (slope, _), covariance = np.polyfit(times, lag, 1, cov=True)
    return bool(slope - student(len(batches) - 2) * np.sqrt(covariance[0, 0]) > 0.01 * rate)


def table(found: pl.DataFrame) -> pl.DataFrame:
    """Points with intervals; the shortest stable interval as the median of the repetitions."""
    return results.points(found.filter(pl.col("measure") == "batch"), ["partitions", "interval_s"], "seconds").join(
        found.filter(pl.col("measure") == "shortest").group_by("partitions").agg(pl.col("seconds").median().alias("shortest_stable_s")),
        on="partitions",
    )


def chart(found: pl.DataFrame) -> alt.Chart:
    """Batch time over interval, and the stable line."""
    shown = table(found).drop("shortest_stable_s")  # It may be infinite, which plots do not know.
    titles = {"interval_s": "batch interval (s)", "seconds": f"batch time (s) at {RATE:,} records/s"}
    line = pl.DataFrame({"interval_s": [0.0, shown["interval_s"].max()], "seconds": [0.0, shown["interval_s"].max()]})
    stable_line = alt.Chart(line).mark_line(strokeDash=[4, 4], color="grey").encode(x="interval_s:Q", y="seconds:Q")
    return alt.layer(stable_line, results.lines(shown, x="interval_s", y="seconds", color="partitions", titles=titles))


def verdict(found: pl.DataFrame) -> str:
    """Slope, and the shortest stable intervals."""
    said = []
    for (partitions,), group in table(found).group_by("partitions", maintain_order=True):
        fit = np.polyfit(group["interval_s"], group["seconds"], 1) if len(group) > 1 else (float("nan"), float("nan"))
        shortest_s = group["shortest_stable_s"][0]
        stable_from = f"stable from {shortest_s:g} s on" if np.isfinite(shortest_s) else "none was stable"
        said.append(f"{partitions}: {fit[1]:.2f} s + {fit[0]:.3f} × interval, {stable_from}")
    return (
        f"Measured at {RATE:,}/s, by partitions: {'; '.join(said)} (of "
        f"{', '.join(f'{each:g}' for each in TRIED_S)} s tried). An interval is called "
        "stable if the median batch fits into it and the lag does not grow. Structured Streaming begins a late batch at once and "
        "takes in all that came meanwhile, so that a too short interval makes it late, not its queue longer."
    )
