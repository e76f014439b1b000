"""The page that compares two runs: verdicts first, then what differs, then statistics."""

from __future__ import annotations

from pathlib import Path

import altair as alt
import polars as pl

from streambed.record.history import History
from streambed.reports import summary_page
from streambed.reports.figure import Absent, Chart, Figure, rows
from streambed.reports.figures.latency import (
    SHARE_TOOLTIP,
    cumulative_shares,
    end_to_end,
    latency_axis,
    percentiles,
    share_axis,
)
from streambed.results.comparison import CAUTION, Comparison
from streambed.results.runs import Run

PAGE = "comparison.html"
HEADINGS = ("A", "B", "B − A", "95 % interval", "p")


def write(compared: Comparison) -> Path:
    """Write comparison.html and its figures into B's folder."""
    runs = {"A": compared.a, "B": compared.b}
    histories = {letter: run.history() for letter, run in runs.items()}
    names = {letter: f"{run.name}/{run.directory.name}" for letter, run in runs.items()}
    latency = summary_page.Section(
        title="Latency", figures=[distributions(histories)], table=_percentiles(histories)
    )
    page = summary_page.Page(
        kind="comparison",
        title=f"{names['A']} and {names['B']}",
        subtitle=f"A {names['A']} · B {names['B']}",
        facts=names,
        banners=_unfinished(runs),
        sections=[
            summary_page.Section(title="Verdicts", facts=compared.verdicts),
            summary_page.Section(title="Records", facts=compared.counts),
            _what_differs(compared),
            _declared_differently(compared),
            summary_page.Section(title="Statistics", lines=[CAUTION], table=_statistics(compared)),
            latency,
        ],
    )
    return summary_page.write(page, compared.b.directory / PAGE)


def _unfinished(runs: dict[str, Run]) -> list[str]:
    sentences = []
    for letter, run in runs.items():
        if run.state != "finished":
            sentences.append(f"{letter} is {run.state}: {run.reason}")
    return sentences


def _what_differs(compared: Comparison) -> summary_page.Section:
    lines = compared.differing or ["Nothing differs clearly."]
    if compared.alike:
        lines = [*lines, f"No clear difference: {', '.join(compared.alike)}."]
    return summary_page.Section(title="What differs", lines=lines)


def _statistics(compared: Comparison) -> pl.DataFrame:
    rows = [(one.measure, *one.cells) for one in compared.statistics if one.difference]
    return pl.DataFrame(rows, schema=["statistic", *HEADINGS], orient="row")


def _declared_differently(compared: Comparison) -> summary_page.Section:
    title = "Declared differently"
    if not compared.declared:
        return summary_page.Section(title=title, lines=["Nothing: both declare the same."])
    table = pl.DataFrame(compared.declared, schema=["key", "A", "B"], orient="row")
    return summary_page.Section(title=title, table=table)


def _latencies(histories: dict[str, History]) -> pl.DataFrame:
    tables = [
        end_to_end(history).with_columns(run=pl.lit(letter))
        for letter, history in histories.items()
    ]
    return pl.concat(tables)


def _percentiles(histories: dict[str, History]) -> pl.DataFrame | None:
    latencies = _latencies(histories)
    if latencies.is_empty():
        return None
    labelled = latencies.with_columns(to=pl.format("{} of {}", "to", "run"))
    return percentiles(labelled).rename({"to": "latency"})


def distributions(histories: dict[str, History]) -> Figure | Absent:
    """The cumulative distribution of latency in both runs."""
    name, title = "comparison_latency", "Distribution of end-to-end latency, A and B"
    latencies = _latencies(histories)
    if latencies.is_empty():
        return Absent(name=name, title=title, reason="No consumer of either run saw a record.")
    table = cumulative_shares(latencies, by=["to", "run"])
    caption = (
        "The share of records that were seen within a latency; one colour for each run. "
        "Records never seen are not in it."
    )
    chart = _distribution_chart(table, latencies["latency_s"])
    return Figure(name=name, title=title, caption=caption, chart=chart, table=table)


def _distribution_chart(shares: pl.DataFrame, latencies_s: pl.Series) -> Chart:
    drawn = shares.with_columns(pl.col("latency_s").round_sig_figs(5))
    line = alt.Chart(rows(drawn)).mark_line(interpolate="step-before")
    chart: Chart = line.encode(
        latency_axis(latencies_s),
        share_axis(),
        alt.Color("run:N", legend=alt.Legend(symbolType="stroke")),
        alt.StrokeDash("to:N"),
        tooltip=[alt.Tooltip("run:N"), *SHARE_TOOLTIP],
    )
    return chart.properties(height=300)
