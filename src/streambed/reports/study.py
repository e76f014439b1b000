"""The page of a study: every measure over what was varied, with trials and intervals."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import altair as alt
import polars as pl

from streambed.declare.study import Plot, Study
from streambed.errors import UsageError
from streambed.reports import sheet
from streambed.reports.figure import Absent, Chart, Figure, rows
from streambed.results.studies import PAGE, StudyResult
from streambed.units import Bandwidth, Duration, Frequency, Quantity, Share, Size

QUANTITIES: tuple[type[Quantity], ...] = (Duration, Bandwidth, Share, Frequency, Size)


class Axis(NamedTuple):
    """Values of one key as numbers of one unit; no numbers if their quantities differ."""

    numbers: dict[str, float]
    unit: str


def axis_of(texts: list[str]) -> Axis:
    """Numbers to draw for the values of a key, in the largest unit that keeps them at 1 or more."""
    try:
        return Axis({text: float(text) for text in texts}, "")
    except ValueError:
        pass
    for kind in QUANTITIES:
        try:
            values = {text: kind.parse(text).value for text in texts}
        except UsageError:
            continue
        least = min((value for value in values.values() if value), default=0.0)
        units = [(size, unit) for unit, size in kind.units.items()]
        fitting = [(size, unit) for size, unit in units if size <= least]
        size, unit = max(fitting) if fitting else min(units)
        return Axis({text: value / float(size) for text, value in values.items()}, unit)
    return Axis({}, "")


def write(result: StudyResult) -> Path:
    """Write study.html and figures/ into the study's folder, from its tables."""
    study, trials, summary = result.declared.study, result.trials(), result.summary()
    banners = [f"{name} did not finish: {reason}" for name, reason in result.failures.items()]
    banners += [f"{name} is doubtful: {says}" for name, says in result.doubts().items()]
    warm_up = "Nothing is left out as warm-up."
    if study.warm_up.ns:
        warm_up = (
            f"Records due, and seconds passed, before {study.warm_up} of the load "
            "are left out of latency, throughput and cpu."
        )
    intervals = (
        "Bars are 95 % intervals of the mean by Student's t over repetitions; "
        "faint points are single trials."
    )
    measures = sheet.Section(
        title="Measures", lines=[warm_up, intervals], figures=figures(study, trials, summary)
    )
    page = sheet.Sheet(
        kind="study",
        title=study.name,
        subtitle=f"{study.name} · {len(result.finished)} trials · seed {study.seed}",
        facts={
            "experiment": study.experiment,
            "trials": f"{len(result.finished)} of {len(result.declared.trials)} finished",
            "repetitions": str(result.declared.repetitions),
            "order": study.order,
            "seed": str(study.seed),
            "warm-up": str(study.warm_up),
        },
        banners=banners,
        sections=[
            measures,
            sheet.Section(title="Points", table=summary.drop("study")),
            sheet.Section(title="Trials", table=trials.drop("study", "trial")),
        ],
    )
    return sheet.write(page, result.folder / PAGE)


def figures(study: Study, trials: pl.DataFrame, summary: pl.DataFrame) -> list[Figure | Absent]:
    """The plots that the study declares; by default each measure over the first varied key."""
    keys = study.keys()
    if not keys:
        reason = "Nothing is varied: the table below has all there is."
        return [Absent(name="none", title="Plots", reason=reason)]
    plots = study.plots or tuple(Plot(x=keys[0], y=measure) for measure in study.measures)
    return [figure(plot, at, keys, trials, summary) for at, plot in enumerate(plots)]


def figure(
    plot: Plot, at: int, keys: list[str], trials: pl.DataFrame, summary: pl.DataFrame
) -> Figure | Absent:
    """One measure over one key: the mean of each point with its interval, and every trial."""
    name, title = f"plot_{at}_{re.sub('[^A-Za-z0-9]+', '_', plot.y)}", f"{plot.y} over {plot.x}"
    on_plot = (pl.col("measure") == plot.y) & pl.col(plot.x).is_not_null()
    points = summary.filter(on_plot & pl.col("n").gt(0))
    if points.is_empty():
        return Absent(name=name, title=title, reason="No trial gave a value.")
    axis = axis_of(points[plot.x].unique(maintain_order=True).to_list())
    single = trials.filter(on_plot & pl.col("value").is_not_null())
    others = [key for key in keys if key != plot.x]
    means = _drawable(points, plot, others, axis)
    values = _drawable(single, plot, others, axis)
    unit = points["unit"][0]
    caption = (
        "Mean of each point with its 95 % interval by Student's t; every trial as a faint point. "
        f"{plot.y} in {unit}."
    )
    chart = _chart(means, values, plot, axis, unit)
    return Figure(name=name, title=title, caption=caption, chart=chart, table=points)


def _drawable(table: pl.DataFrame, plot: Plot, others: list[str], axis: Axis) -> pl.DataFrame:
    """Rename columns: keys contain dots, which Vega-Lite reads as nested fields."""
    x = pl.col(plot.x)
    line = [pl.format("{}={}", pl.lit(key), pl.col(key).fill_null("")) for key in others]
    together = pl.concat_str(line, separator=", ") if line else pl.lit("")
    colour = pl.col(plot.colour) if plot.colour else together
    numbers = [
        pl.col(name).round_sig_figs(6)
        for name in ("mean", "low", "high", "value")
        if name in table.columns
    ]
    if axis.numbers:
        x = x.replace_strict(axis.numbers, return_dtype=pl.Float64)
    return table.select(*numbers, x=x, line=together, colour=colour)


def _x_axis(points: pl.DataFrame, plot: Plot, axis: Axis) -> alt.X:
    """Numbers on a continuous axis; anything else in the order of the study."""
    if axis.numbers:
        title = f"{plot.x} in {axis.unit}" if axis.unit else plot.x
        return alt.X("x:Q", title=title, sort=None, scale=alt.Scale(zero=False, padding=16))
    order = points["x"].unique(maintain_order=True).to_list()
    return alt.X("x:O", title=plot.x, sort=order)


def _chart(points: pl.DataFrame, single: pl.DataFrame, plot: Plot, axis: Axis, unit: str) -> Chart:
    legend = alt.Legend(title=plot.colour or None) if points["colour"].n_unique() > 1 else None
    x = _x_axis(points, plot, axis)
    colour = alt.Color("colour:N", legend=legend)
    y = alt.Y(
        "mean:Q",
        title=f"{plot.y} in {unit}",
        scale=alt.Scale(zero=True),
        axis=alt.Axis(minExtent=44),
    )
    base = alt.Chart(rows(points)).encode(x, colour)
    tooltip = [
        alt.Tooltip("x:N", title=plot.x),
        alt.Tooltip("line:N"),
        *(alt.Tooltip(f"{name}:Q", format=".4~g") for name in ("mean", "low", "high")),
    ]
    layers = [
        alt.Chart(rows(single))
        .mark_point(opacity=0.3, size=25, filled=True)
        .encode(x, alt.Y("value:Q"), colour),
        base.mark_line(opacity=0.5).encode(y, alt.Detail("line:N")),
        base.transform_filter("isValid(datum.low)")
        .mark_rule(strokeWidth=2)
        .encode(alt.Y("low:Q"), alt.Y2("high:Q")),
        base.mark_point(size=60, filled=True, opacity=1).encode(y, tooltip=tooltip),
    ]
    return alt.layer(*layers).properties(height=280)
