"""4.6: batch interval and partitions, the stable line, and the shortest stable interval."""

from __future__ import annotations

import time
from collections.abc import Iterator

import altair as alt
import numpy as np
import polars as pl

from gateway_traffic.ingest.forwarder import make_topics
from gateway_traffic.records import Version
from streambed.record.statistics import student
from studies.gateways import harness, judging, results
from studies.gateways.judging import Outcome, Statement

TITLE = "4.6 Batch interval"
CLAIM = (
    "Batch time grows about linearly with the interval; the shortest stable interval is about 1 s "
    "with one partition, below 1 s with "
    "two and three. *Cumulative*, JSON, 1,200 records/s."
)
RATE = 5000
CLAIMED_RATE = 1200
TRIED_S = (0.25, 0.5, 1.0)
"""Candidates for the shortest stable interval at the thesis's rate."""
PROBE_S = 8.0
WARM_S = 3.0


def rows(bench: harness.Bench, repetitions: int) -> Iterator[results.Row]:
    """Batch times of the records of one interval; then the shortest stable interval under a steady
    load.
    """
    intervals, rate, parts = (
        ((1.0,), 1000, (1,)) if bench.quick else ((0.5, 2.0, 4.0), RATE, (1, 2, 3))
    )
    needed = bench.needed(int(rate * max(intervals)))
    tried_s = TRIED_S[-1:] if bench.quick else TRIED_S
    tried = ", ".join(f"{each:g}" for each in tried_s)
    harness.warm_up(bench)
    for repetition in bench.rounds(repetitions):
        for partitions in parts:
            topic = bench.topic(Version.CUMULATIVE, "json.2", partitions, needed)
            for interval_s in intervals:
                seconds = harness.batch_s(
                    bench,
                    topic,
                    Version.CUMULATIVE,
                    size=int(rate * interval_s),
                    shuffle=partitions,
                )
                row = {
                    "partitions": partitions,
                    "interval_s": interval_s,
                    "repetition": repetition,
                    "measure": "batch",
                }
                yield row | {"rate": rate, "tried": tried, "seconds": seconds}
            if repetition < 0:
                continue
            row = {
                "partitions": partitions,
                "interval_s": 0.0,
                "repetition": repetition,
                "measure": "shortest",
            }
            seconds = shortest_stable(bench, partitions, CLAIMED_RATE, tried_s)
            yield row | {"rate": CLAIMED_RATE, "tried": tried, "seconds": seconds}


def shortest_stable(
    bench: harness.Bench, partitions: int, rate: int, tried_s: tuple[float, ...]
) -> float:
    """Find the shortest stable interval by bisection; infinite if none is stable."""
    low, high = 0, len(tried_s)
    while low < high:
        middle = (low + high) // 2
        if stable(bench, partitions, rate, tried_s[middle]):
            high = middle
        else:
            low = middle + 1
    return tried_s[low] if low < len(tried_s) else float("inf")


def stable(bench: harness.Bench, partitions: int, rate: int, interval_s: float) -> bool:
    """Whether the median batch fits into the interval and the lag does not grow, by the 95 %
    interval of its slope.
    """
    probe_s = 4.0 if bench.quick else PROBE_S
    topic = f"live-{bench.fresh('live').name}"
    make_topics(
        bench.broker.bootstrap,
        [topic, f"{topic}-dead"],
        partitions=partitions,
        replicas=1,
        within_s=30.0,
    )
    records = harness.payloads(Version.CUMULATIVE, "json.2", int(rate * probe_s))
    options = {"trigger": f"{int(interval_s * 1000)} milliseconds", "shuffle": partitions}
    with harness.query(bench, topic, Version.CUMULATIVE, **options) as running:
        harness.wait(lambda: bool(running.recentProgress), running)
        with harness.feeding(bench.broker.bootstrap, topic, records, lambda _: rate) as feeder:
            began_s = time.time()
            harness.wait(lambda: not feeder.is_alive(), running)
        batches = [
            batch
            for batch in harness.batches_of(running)
            if began_s + WARM_S < batch.ended_s < began_s + probe_s
        ]
    return (
        bool(batches)
        and float(np.median([batch.seconds for batch in batches])) <= interval_s
        and not _grows(batches, rate, began_s)
    )


def _grows(batches: list[harness.Batch], rate: int, began_s: float) -> bool:
    """Whether the lag grows, by the 95 % interval of its slope."""
    if len(batches) < 4:
        return False
    times = np.array([batch.ended_s - began_s for batch in batches])
    lag = rate * times - np.cumsum([batch.rows for batch in batches])
    (slope, _), covariance = np.polyfit(times, lag, 1, cov=True)
    return bool(slope - student(len(batches) - 2) * np.sqrt(covariance[0, 0]) > 0.01 * rate)


def table(measurements: pl.DataFrame) -> pl.DataFrame:
    """Points with intervals; the shortest stable interval as the median of the repetitions."""
    return results.points(
        measurements.filter(pl.col("measure") == "batch"), ["partitions", "interval_s"], "seconds"
    ).join(
        measurements.filter(pl.col("measure") == "shortest")
        .group_by("partitions")
        .agg(pl.col("seconds").median().alias("shortest_stable_s")),
        on="partitions",
        maintain_order="left",
    )


def chart(measurements: pl.DataFrame) -> alt.Chart:
    """Batch time over interval, and the stable line."""
    # The shortest stable interval may be infinite, which cannot be plotted.
    shown = table(measurements).drop("shortest_stable_s")
    rate = int(measurements.filter(measure="batch")["rate"].max())
    titles = {
        "interval_s": "batch interval (s)",
        "seconds": f"batch time (s) at {rate:,} records/s",
    }
    line = pl.DataFrame(
        {
            "interval_s": [0.0, shown["interval_s"].max()],
            "seconds": [0.0, shown["interval_s"].max()],
        }
    )
    stable_line = (
        alt.Chart(line)
        .mark_line(strokeDash=[4, 4], color="grey")
        .encode(x="interval_s:Q", y="seconds:Q")
    )
    return alt.layer(
        stable_line,
        results.lines(shown, x="interval_s", y="seconds", color="partitions", titles=titles),
    )


def bends(measurements: pl.DataFrame, partitions: int) -> list[float]:
    """Largest relative deviation of batch times from their regression line, for each repetition."""
    made = []
    for _, group in (
        measurements.filter(partitions=partitions, measure="batch")
        .sort("repetition", "interval_s")
        .group_by("repetition")
    ):
        times, seconds = group["interval_s"].to_numpy(), group["seconds"].to_numpy()
        made.append(
            float(np.max(np.abs(np.polyval(np.polyfit(times, seconds, 1), times) / seconds - 1)))
        )
    return made


def statements(measurements: pl.DataFrame) -> list[Statement]:
    """The claim in parts."""
    made = []
    batches = measurements.filter(measure="batch")
    lengths = batches["interval_s"].unique().sort()
    for partitions in measurements["partitions"].unique().sort():
        name = f"{partitions} partition{'' if partitions == 1 else 's'}"
        if len(lengths) > 2:
            of, to = (
                {"interval_s": length, "partitions": partitions}
                for length in (lengths[-1], lengths[0])
            )
            says = f"{name}: a batch of {lengths[-1]:g} s takes longer than one of {lengths[0]:g} s"
            made.append(
                Statement(
                    says=says,
                    values=judging.ratios(batches, "seconds", of, to),
                    least=1.0,
                    show="{:.2f} times".format,
                )
            )
            says = f"{name}: batch times lie on a straight line over the interval, to a fifth"
            made.append(
                Statement(
                    says=says,
                    values=bends(measurements, partitions),
                    most=judging.ABOUT,
                    show=judging.share,
                )
            )
        made.append(
            _shortest(
                name,
                judging.values(measurements, "seconds", measure="shortest", partitions=partitions),
                single=partitions == 1,
            )
        )
    return made


def _shortest(name: str, shortest_s: list[float], *, single: bool) -> Statement:
    """State that the shortest stable interval is the claimed one in each repetition."""
    claimed, within_limit = (
        ("about 1 s", [each == 1.0 for each in shortest_s])
        if single
        else ("below 1 s", [each < 1.0 for each in shortest_s])
    )
    shortest = ", ".join(f"{each:g} s" if np.isfinite(each) else "none" for each in shortest_s)
    quicker = max(shortest_s) < 1.0
    likely = (
        {Outcome.BELOW: "a batch costs less before it computes anything than it did then"}
        if single and quicker
        else None
    )
    says = f"{name}: the shortest stable interval at {CLAIMED_RATE:,}/s is {claimed}"
    return judging.always(f"{says} (found: {shortest})", within_limit, likely)


def verdict(measurements: pl.DataFrame) -> str:
    """Slopes, and the shortest stable intervals."""
    batches = measurements.filter(measure="batch")
    fits = []
    for (partitions,), group in batches.group_by("partitions", maintain_order=True):
        if group["interval_s"].n_unique() > 1:
            slope, base = np.polyfit(group["interval_s"], group["seconds"], 1)
            fits.append(f"{partitions}: {base:.2f} s + {slope:.3f} × interval")
    intro = (
        "Batch times at "
        f"{int(batches['rate'].max()):,}/s{', by partitions ' if fits else ''}{'; '.join(fits)}. "
        "An interval is called "
        "stable if the median batch fits into it and the lag does not grow; "
        f"{measurements['tried'][0]} s are searched."
    )
    return judging.told(intro, statements(measurements))
