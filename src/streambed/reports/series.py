"""Series of samples: times in seconds, rates of counters, and thinning for plots."""

from __future__ import annotations

import math
from typing import Literal

import polars as pl

from streambed.plan import WITNESS
from streambed.record.history import History

Keep = Literal["mean", "max"]
POINTS = 400
"""Most points drawn of one series."""
SERIES = 16
"""Most series drawn in one figure."""
GAP = 2.5
"""A series has a gap where its next sample comes this many usual steps later, or more."""
STEPS_S = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600)


def samples(history: History, *metrics: str) -> pl.DataFrame:
    """The samples of these metrics, sorted: metric, of, time_s, value. The witness is left out: it
    reads back after the drain.
    """
    wanted = pl.col("metric").is_in(metrics) & (pl.col("of") != WITNESS)
    chosen = history.samples.filter(wanted).sort("metric", "of", "time")
    return chosen.select(
        "metric", "of", time_s=(pl.col("time") - history.zero_ns) / 1e9, value="value"
    )


def rates(history: History, *metrics: str) -> pl.DataFrame:
    """Growth of counters per second. Left out is a step in which a counter was reset, and one over
    a gap, such as the time in which a process was dead.
    """
    by = ["metric", "of"]
    steps = (
        samples(history, *metrics)
        .with_columns(
            grown=pl.col("value").diff().over(by),
            passed_s=pl.col("time_s").diff().over(by),
        )
        .filter((pl.col("grown") >= 0) & (pl.col("passed_s") > 0))
        .filter(pl.col("passed_s") < GAP * pl.col("passed_s").median().over(by))
    )
    return steps.select("metric", "of", "time_s", value=pl.col("grown") / pl.col("passed_s"))


def largest(table: pl.DataFrame, *, by: str, value: str) -> tuple[pl.DataFrame, str]:
    """The series with the largest peaks, and a sentence on those left out."""
    peaks = table.group_by(by).agg(pl.col(value).max()).sort([value, by], descending=[True, False])
    if peaks.height <= SERIES:
        return table, ""
    names = peaks[by].head(SERIES).to_list()
    left_out = (
        f"Drawn are the {SERIES} with the largest peaks out of {peaks.height}; the table has all."
    )
    return table.filter(pl.col(by).is_in(names)), left_out


def step_s(span_s: float, points: int = POINTS) -> float:
    """The smallest round step that covers a span with at most `points` points."""
    return next((step for step in STEPS_S if span_s / step <= points), math.ceil(span_s / points))


def thin(
    table: pl.DataFrame, *, by: str, value: str, keep: Keep = "mean"
) -> tuple[pl.DataFrame, str]:
    """At most POINTS points per series, and a sentence on what each point is.

    A point is the mean or the largest value of equal time steps.
    """
    shown = table.select("time_s", by, value).sort(by, "time_s")
    says = ""
    if table.group_by(by).len()["len"].max() > POINTS:  # type: ignore[operator]
        step = step_s(float(table["time_s"].max() - table["time_s"].min()))  # type: ignore[operator, arg-type]
        shown = _summarise(shown, step, by=by, value=value, keep=keep)
        noun = "mean" if keep == "mean" else "largest value"
        says = f"Each point is the {noun} of {step:g} s; the table has every sample."
    return shown.with_columns(pl.col("time_s").round(3), pl.col(value).round_sig_figs(5)), says


def _summarise(
    table: pl.DataFrame, step: float, *, by: str, value: str, keep: Keep
) -> pl.DataFrame:
    """One row for each series and time step, at the middle of the step."""
    middle = ((pl.col("time_s") / step).floor() + 0.5) * step
    statistic = pl.col(value).mean() if keep == "mean" else pl.col(value).max()
    steps = table.group_by(by, middle.alias("time_s"), maintain_order=True)
    return steps.agg(statistic).select("time_s", by, value)


def with_gaps(table: pl.DataFrame, *, by: str, value: str) -> pl.DataFrame:
    """Add a row without a value where samples are missing, so that no line is drawn across."""
    passed_s = pl.col("time_s").diff().over(by)
    steps = table.with_columns(passed_s=passed_s, before_s=pl.col("time_s").shift().over(by))
    usual_s = pl.col("passed_s").median().over(by)
    gaps = steps.filter(pl.col("passed_s") >= GAP * usual_s.clip(lower_bound=0.001))
    breaks = gaps.select(
        (pl.col("before_s") + 0.001).round(3).alias("time_s"),
        by,
        pl.lit(None, dtype=table.schema[value]).alias(value),
    )
    return pl.concat([table, breaks]).sort(by, "time_s")


def with_breaks(
    table: pl.DataFrame, breaks: dict[str, list[float]], *, by: str, value: str
) -> pl.DataFrame:
    """Add a row without a value to each series at these times."""
    times = [(time_s, name) for name, times_s in breaks.items() for time_s in times_s]
    schema = {"time_s": table.schema["time_s"], by: table.schema[by]}
    empty = pl.DataFrame(times, schema=schema, orient="row").with_columns(
        pl.lit(None, dtype=table.schema[value]).alias(value)
    )
    return pl.concat([table.select("time_s", by, value), empty]).sort(by, "time_s")
