"""4.2: versions and input rate."""

from __future__ import annotations

from collections.abc import Iterator

import altair as alt
import polars as pl

from gateway_traffic.records import Version
from studies.gateways import harness, judging, results
from studies.gateways.judging import Outcome, Statement

TITLE = "4.2 Versions of the records"
CLAIM = (
    "The batch time of *counter* is about 30 % below that of *cumulative* and *rate*, which are "
    "alike; the gap grows with the rate, "
    "to about 40 % at 1,200 records/s. JSON, 3 partitions, batches of 5 s."
)
INTERVAL_S = 5
CLAIMED_RATE = 1200
OTHERS = ("cumulative", "rate")
SMALLER = (
    "what a batch costs whatever is in it (planning, checkpoint, commit) is a large part of its "
    "time, and because "
    "*counter* removes duplicates by state here, which the thesis's did not"
)


def rows(bench: harness.Bench, repetitions: int) -> Iterator[results.Row]:
    """Batches of 5 s of records at each rate; the highest one is the limit of an ingest server
    (4.4).
    """
    rates = [400, 1200] if bench.quick else [450, 1200, 10000, 30000]
    needed = bench.needed(max(rates) * INTERVAL_S)
    for version in Version:
        harness.warm_up(bench, version)
    for repetition in bench.rounds(repetitions):
        for rate in rates:
            for version in Version:
                topic = bench.topic(version, "json.2", 3, needed)
                seconds = harness.batch_s(bench, topic, version, size=rate * INTERVAL_S)
                yield {
                    "version": str(version),
                    "rate": rate,
                    "repetition": repetition,
                    "batch_s": seconds,
                }


def table(measurements: pl.DataFrame) -> pl.DataFrame:
    """Points with intervals."""
    return results.points(measurements, ["version", "rate"], "batch_s").sort("version", "rate")


def chart(measurements: pl.DataFrame) -> alt.Chart:
    """Batch time over rate."""
    titles = {"rate": "records a second", "batch_s": "batch time (s), batches of 5 s"}
    return results.lines(table(measurements), x="rate", y="batch_s", color="version", titles=titles)


def gaps(measurements: pl.DataFrame, rate: int, other: str) -> list[float]:
    """How much shorter *counter* takes."""
    ratios = judging.ratios(
        measurements,
        "batch_s",
        {"rate": rate, "version": "counter"},
        {"rate": rate, "version": other},
    )
    return [1 - ratio for ratio in ratios]


def statements(measurements: pl.DataFrame) -> list[Statement]:
    """The claim in parts, and the same at the highest rate."""
    lowest, highest = int(measurements["rate"].min()), int(measurements["rate"].max())
    made = [
        _claimed(measurements, rate, gap, other)
        for rate, gap in ((lowest, 0.3), (CLAIMED_RATE, 0.4))
        for other in OTHERS
    ]
    made += [
        Statement(
            says=f"at {highest:,}/s *counter* takes less than *{other}*",
            values=gaps(measurements, highest, other),
            least=0.0,
            show=judging.share,
        )
        for other in OTHERS
    ]
    for rate in sorted({CLAIMED_RATE, highest}):
        ratios = judging.ratios(
            measurements,
            "batch_s",
            {"rate": rate, "version": "cumulative"},
            {"rate": rate, "version": "rate"},
        )
        made.append(judging.alike(f"at {rate:,}/s *cumulative* takes as long as *rate*", ratios))
    growth = [
        high - low
        for high, low in zip(
            gaps(measurements, highest, "cumulative"),
            gaps(measurements, lowest, "cumulative"),
            strict=True,
        )
    ]
    says = f"the gap between *counter* and *cumulative* grows from {lowest:,}/s to {highest:,}/s"
    made.append(Statement(says=says, values=growth, least=0.0, show=judging.change))
    return made


def _claimed(measurements: pl.DataFrame, rate: int, gap: float, other: str) -> Statement:
    """State that *counter* takes about this much less; a small gap has an explanation."""
    measured = gaps(measurements, rate, other)
    likely = {Outcome.BELOW: SMALLER} if min(measured) > 0 else None
    return judging.about(
        f"at {rate:,}/s *counter* takes about {judging.share(gap)} less than *{other}*",
        measured,
        gap,
        judging.share,
        likely,
    )


def verdict(measurements: pl.DataFrame) -> str:
    """Each part of the claim."""
    return judging.told(
        "Duplicates are removed by state in all three versions.", statements(measurements)
    )
