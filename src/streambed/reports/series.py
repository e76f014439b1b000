"""Series of measurements: a sample's time in seconds, rates from counters, and fewer points where a
plot cannot show them all.
"""

from __future__ import annotations

import math
from typing import Literal

import polars as pl

from streambed.record.history import History

Keep = Literal["mean", "max"]
POINTS = 400
"""So many points of one series are drawn at most."""
SERIES = 16
"""So many series are drawn in one figure at most."""
STEPS_S = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600)


def samples(history: History, *metrics: str) -> pl.DataFrame:
    """The samples of these metrics: metric, of, time_s, value; in order."""
    found = history.samples.filter(pl.col("metric").is_in(metrics)).sort("metric", "of", "time")
    return found.select(
        "metric", "of", time_s=(pl.col("time") - history.start_ns) / 1e9, value="value"
    )


def rates(history: History, *metrics: str) -> pl.DataFrame:
    """What cumulative counters grew by in a second. A counter that went down began again: that step
    is left out.
    """
    found = samples(history, *metrics)
    by = ["metric", "of"]
    steps = found.with_columns(
        grown=pl.col("value").diff().over(by),
        passed_s=pl.col("time_s").diff().over(by),
    ).filter((pl.col("grown") >= 0) & (pl.col("passed_s") > 0))
    return steps.select("metric", "of", "time_s", value=pl.col("grown") / pl.col("passed_s"))


def largest(table: pl.DataFrame, *, by: str, value: str) -> tuple[pl.DataFrame, str]:
    """The series with the largest peaks, and a sentence on those left out."""
    peaks = table.group_by(by).agg(pl.col(value).max()).sort([value, by], descending=[True, False])
    if peaks.height <= SERIES:
        return table, ""
    kept = peaks[by].head(SERIES).to_list()
    return table.filter(
        pl.col(by).is_in(kept)
    ), f"Drawn are the {SERIES} with the largest peaks out of {peaks.height}; the table has all."


def step_s(span_s: float, points: int = POINTS) -> float:
    """The smallest round step that covers a span with so many points."""
    return next((step for step in STEPS_S if span_s / step <= points), math.ceil(span_s / points))


def thin(
    table: pl.DataFrame, *, by: str, value: str, keep: Keep = "mean"
) -> tuple[pl.DataFrame, str]:
    """At most POINTS points a series, by the mean or the largest value of equal steps of time; and
    a sentence that says so.
    """
    shown = table.select("time_s", by, value).sort(by, "time_s")
    says = ""
    if table.group_by(by).len()["len"].max() > POINTS:  # type: ignore[operator]
        step = step_s(float(table["time_s"].max() - table["time_s"].min()))  # type: ignore[operator, arg-type]
        middle = ((pl.col("time_s") / step).floor() + 0.5) * step
        joined = pl.col(value).mean() if keep == "mean" else pl.col(value).max()
        shown = (
            shown.group_by(by, middle.alias("time_s"), maintain_order=True)
            .agg(joined)
            .select("time_s", by, value)
        )
        says = f"Each point is the {'mean' if keep == 'mean' else 'largest value'} of {step:g} s; the table has every sample."
    return shown.with_columns(pl.col("time_s").round(3), pl.col(value).round_sig_figs(5)), says
