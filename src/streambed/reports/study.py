"""The page of a study: every measure over what was varied, with trials and intervals."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import altair as alt
import polars as pl

from streambed.declare.study import Plot, Study
from streambed.errors import UsageError
from streambed.record.secrets import masked_text
from streambed.reports import summary_page
from streambed.reports.figure import Absent, Chart, Figure, rows
from streambed.results.studies import PAGE, StudyResult
from streambed.units import Bandwidth, Duration, Frequency, Quantity, Share, Size

NUMBERS = ("value", "mean", "deviation", "low", "high")
LABELLED_MAX = 6
"""Most lines with a label at their end; more have a legend."""
LABEL_GAP = 0.07
"""Least distance of two labels, as a share of the height."""
LABEL_ROOM = 0.3
"""Room for labels at the right, as a share of the width."""
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
    study, doubts = result.declared.study, result.doubts()
    trials = in_milliseconds(with_doubts(result.trials(), doubts), by="value")
    summary = in_milliseconds(result.summary(), by="mean")
    measures = summary_page.Section(
        title="Measures",
        lines=list(_remarks(result, doubts)),
        figures=figures(study, trials, summary),
    )
    keys = study.keys()
    labels = {key: study.label(key) for key in keys}
    point_table = summary.drop("study").rename(labels)
    trial_table = trials.drop("study", "trial").rename(labels)
    page = summary_page.Page(
        kind="study",
        title=study.name,
        subtitle=f"{study.name} · {len(result.finished)} trials · seed {study.seed}",
        facts=_facts(result),
        banners=_failures(result),
        sections=[
            measures,
            summary_page.Section(title="Points", table=point_table),
            summary_page.Section(title="Trials", table=trial_table),
        ],
    )
    return summary_page.write(page, result.folder / PAGE)


def _failures(result: StudyResult) -> list[str]:
    failures = [f"{name} did not finish: {reason}" for name, reason in result.failures.items()]
    return [masked_text(failure) for failure in failures]


def _facts(result: StudyResult) -> dict[str, str]:
    """The names and values beneath the title."""
    study = result.declared.study
    return {
        "experiment": study.experiment,
        "trials": f"{len(result.finished)} of {len(result.declared.trials)} finished",
        "repetitions": str(result.declared.repetitions),
        "order": study.order,
        "seed": str(study.seed),
        "warm-up": str(study.warm_up),
    }


def _remarks(result: StudyResult, doubts: dict[str, str]) -> Iterator[str]:
    """What a reader of the plots must know."""
    study = result.declared.study
    for check, names in result.not_holding().items():
        yield f"{check} in {len(names)} of {len(result.finished)} trials: {'; '.join(names)}."
    if study.warm_up.ns:
        yield (
            f"Records due, and seconds passed, before {study.warm_up} of the load "
            "are left out of latency, throughput and cpu."
        )
    else:
        yield "Nothing is left out as warm-up."
    yield (
        "Bars are 95 % intervals of the mean by Student's t over repetitions; "
        "faint points are single trials."
    )
    if doubts:
        yield (
            f"Hollow points are doubtful: in {len(doubts)} of {len(result.finished)} trials the "
            "network was not as declared all the time. The table of trials says why."
        )


def with_doubts(trials: pl.DataFrame, doubts: dict[str, str]) -> pl.DataFrame:
    """The trials with a column that says why each is doubtful; empty if it is not."""
    reasons = pl.col("trial").replace_strict(doubts, default="", return_dtype=pl.String)
    return trials.with_columns(doubt=reasons)


def in_milliseconds(table: pl.DataFrame, *, by: str) -> pl.DataFrame:
    """The table with measures in ms whose values are all below 1 s."""
    small = (pl.col("unit") == "s") & (pl.col(by).abs().max().over("measure") < 1)
    names = [name for name in NUMBERS if name in table.columns]
    scaled = []
    for name in names:
        scaled.append(pl.when(small).then(pl.col(name) * 1e3).otherwise(name).alias(name))
    unit = pl.when(small).then(pl.lit("ms")).otherwise("unit").alias("unit")
    return table.with_columns(*scaled, unit)


def figures(study: Study, trials: pl.DataFrame, summary: pl.DataFrame) -> list[Figure | Absent]:
    """The plots that the study declares; by default each measure over the first varied key."""
    keys = study.keys()
    if not keys:
        reason = "Nothing is varied: the table below has all there is."
        return [Absent(name="none", title="Plots", reason=reason)]
    plots = study.plots or tuple(Plot(x=keys[0], y=measure) for measure in study.measures)
    return [figure(plot, at, study, trials, summary) for at, plot in enumerate(plots)]


def figure(
    plot: Plot, at: int, study: Study, trials: pl.DataFrame, summary: pl.DataFrame
) -> Figure | Absent:
    """One measure over one key: the mean of each point with its interval, and every trial."""
    name = f"plot_{at}_{re.sub('[^A-Za-z0-9]+', '_', plot.y)}"
    title = f"{plot.y} over {study.label(plot.x)}"
    on_plot = (pl.col("measure") == plot.y) & pl.col(plot.x).is_not_null()
    points = summary.filter(on_plot & pl.col("n").gt(0))
    if points.is_empty():
        return Absent(name=name, title=title, reason="No trial gave a value.")
    single = trials.filter(on_plot & pl.col("value").is_not_null())
    caption = (
        "Mean of each point with its 95 % interval by Student's t; every trial as a faint point. "
        f"{plot.y} in {points['unit'][0]}."
    )
    chart = _plot_chart(plot, study, points, single)
    return Figure(name=name, title=title, caption=caption, chart=chart, table=points)


def _plot_chart(plot: Plot, study: Study, points: pl.DataFrame, single: pl.DataFrame) -> Chart:
    """The chart of a plot from its points and the single trials behind them."""
    axis = axis_of(points[plot.x].unique(maintain_order=True).to_list())
    means = _drawable(_mark_doubts(points, single, study.keys()), plot, study, axis)
    values = _drawable(single, plot, study, axis)
    look = Look(
        x=study.label(plot.x),
        y=f"{plot.y} in {points['unit'][0]}",
        colour=study.label(plot.colour),
    )
    return _chart(means, values, look, axis)


def _mark_doubts(points: pl.DataFrame, trials: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    """Add the column `doubt`: a mean is as doubtful as the worst of its trials."""
    doubtful = trials.filter(pl.col("doubt") != "").select(keys).unique()
    doubtful = doubtful.with_columns(doubt=pl.lit("doubtful"))
    marked = points.join(doubtful, on=keys, how="left", nulls_equal=True)
    return marked.with_columns(pl.col("doubt").fill_null(""))


class Look(NamedTuple):
    """The titles of a plot."""

    x: str
    y: str
    colour: str


def _drawable(table: pl.DataFrame, plot: Plot, study: Study, axis: Axis) -> pl.DataFrame:
    """Rename columns: keys contain dots, which Vega-Lite reads as nested fields."""
    x = pl.col(plot.x)
    keys = study.keys()
    others = [key for key in keys if key != plot.x]
    parts = [
        pl.format("{}={}", pl.lit(study.label(key)), pl.col(key).fill_null("")) for key in others
    ]
    together = pl.concat_str(parts, separator=", ") if parts else pl.lit("")
    colour = pl.col(plot.colour) if plot.colour else together
    numbers = [
        pl.col(name).round_sig_figs(6)
        for name in ("mean", "low", "high", "value")
        if name in table.columns
    ]
    if axis.numbers:
        x = x.replace_strict(axis.numbers, return_dtype=pl.Float64)
    doubtful = pl.col("doubt") != ""
    return table.select(*numbers, x=x, line=together, colour=colour, doubtful=doubtful)


def _x_axis(points: pl.DataFrame, look: Look, axis: Axis, *, labelled: bool) -> alt.X:
    """Numbers on a continuous axis; anything else in the order of the study."""
    if not axis.numbers:
        order = points["x"].unique(maintain_order=True).to_list()
        return alt.X("x:O", title=look.x, sort=order)
    title = f"{look.x} in {axis.unit}" if axis.unit else look.x
    scale = alt.Scale(zero=False, padding=16)
    if labelled:
        low, high = min(axis.numbers.values()), max(axis.numbers.values())
        room = (high - low) * LABEL_ROOM
        scale = alt.Scale(zero=False, domain=[low, high + room], padding=16)
    return alt.X("x:Q", title=title, sort=None, scale=scale)


def line_labels(points: pl.DataFrame) -> pl.DataFrame:
    """The name of each line at its last point, moved apart where two would overlap."""
    ends = points.sort("x").group_by("line", maintain_order=True).last().sort("mean")
    means: list[float] = ends["mean"].to_list()
    gap = max(points["mean"].to_list()) * LABEL_GAP
    heights: list[float] = []
    for mean in means:
        heights.append(max(mean, heights[-1] + gap) if heights else mean)
    text = pl.when(pl.col("colour") == "").then("line").otherwise("colour")
    return ends.select("x", "colour", text=text, height=pl.Series(heights, dtype=pl.Float64))


def _chart(points: pl.DataFrame, single: pl.DataFrame, look: Look, axis: Axis) -> Chart:
    labelled = len(axis.numbers) > 1 and 1 < points["line"].n_unique() <= LABELLED_MAX
    x = _x_axis(points, look, axis, labelled=labelled)
    colour = _colour(points, look, labelled=labelled)
    every_trial = alt.Chart(rows(single)).mark_point(opacity=0.35, size=25)
    every_trial = every_trial.encode(x, alt.Y("value:Q"), colour, *_hollow_if_doubtful())
    means = alt.Chart(rows(points)).encode(x, colour)
    layers = [every_trial, *_mean_layers(means, look)]
    if labelled:
        labels = alt.Chart(rows(line_labels(points)))
        text = labels.mark_text(align="left", dx=9, baseline="middle")
        layers.append(text.encode(x, alt.Y("height:Q"), colour, alt.Text("text:N")))
    return alt.layer(*layers).properties(height=280)


def _mean_layers(base: alt.Chart, look: Look) -> list[alt.Chart]:
    """The means of one line joined, with their intervals, and a point for each."""
    y = alt.Y("mean:Q", title=look.y, scale=alt.Scale(zero=True), axis=alt.Axis(minExtent=44))
    lines = base.mark_line(opacity=0.5)
    intervals = base.transform_filter("isValid(datum.low)").mark_rule(strokeWidth=2)
    points = base.mark_point(size=60, opacity=1)
    return [
        lines.encode(y, alt.Detail("line:N")),
        intervals.encode(alt.Y("low:Q"), alt.Y2("high:Q")),
        points.encode(y, *_hollow_if_doubtful(), tooltip=_tooltip(look)),
    ]


def _colour(points: pl.DataFrame, look: Look, *, labelled: bool) -> alt.Color:
    """One colour for each line; a legend only if there are several and they have no labels."""
    several = points["colour"].n_unique() > 1
    if labelled or not several:
        return alt.Color("colour:N", legend=None)
    return alt.Color("colour:N", legend=alt.Legend(title=look.colour or None))


def _hollow_if_doubtful() -> tuple[alt.Fill, alt.FillOpacity]:
    scale = alt.Scale(domain=[False, True], range=[1, 0])
    fill = alt.Fill("colour:N", legend=None)
    return fill, alt.FillOpacity("doubtful:N", scale=scale, legend=None)


def _tooltip(look: Look) -> list[alt.Tooltip]:
    numbers = [alt.Tooltip(f"{name}:Q", format=".4~g") for name in ("mean", "low", "high")]
    x = alt.Tooltip("x:N", title=look.x)
    return [x, alt.Tooltip("line:N"), *numbers, alt.Tooltip("doubtful:N")]
