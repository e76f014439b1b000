"""The page of a comparison: what was declared differently, every measure of both runs, and their
latencies overlaid.
"""

from __future__ import annotations

from pathlib import Path

import altair as alt
import polars as pl

from streambed.record.history import History
from streambed.reports import sheet
from streambed.reports.figure import Absent, Figure, rows
from streambed.reports.figures.latency import SHARES, end_to_end, percentiles
from streambed.results.comparison import CAUTION, Compared, differences
from streambed.results.runs import Run

PAGE = "comparison.html"
HEADINGS = ("A", "B", "B − A", "95 % interval", "chance")


def write(a: Run, b: Run, compared: list[Compared]) -> Path:
    """Write comparison.html and its figures into B's folder."""
    histories = {"A": a.history(), "B": b.history()}
    named = {letter: f"{run.name}/{run.directory.name}" for letter, run in (("A", a), ("B", b))}
    declared = differences(histories["A"].declaration, histories["B"].declaration)
    rows_of = [
        dict(zip(("measure", *HEADINGS), (one.measure, *one.cells), strict=True))
        for one in compared
    ]
    shown = sheet.Sheet(
        kind="comparison",
        title="A and B",
        subtitle=f"A {named['A']} · B {named['B']}",
        facts=named,
        banners=[
            f"{letter} is {run.state}: {run.reason}"
            for letter, run in (("A", a), ("B", b))
            if run.state != "finished"
        ],
        sections=[
            sheet.Section(
                title="Declared differently",
                lines=[] if declared else ["Nothing: both declare the same."],
                table=pl.DataFrame(declared, schema=["key", "A", "B"], orient="row")
                if declared
                else None,
            ),
            sheet.Section(title="What differs", lines=[one.says for one in compared]),
            sheet.Section(title="All measures", lines=[CAUTION], table=pl.DataFrame(rows_of)),
            sheet.Section(
                title="Latency", figures=[distributions(histories)], table=_percentiles(histories)
            ),
        ],
    )
    return sheet.write(shown, b.directory / PAGE)


def _latencies(histories: dict[str, History]) -> pl.DataFrame:
    return pl.concat(
        [
            end_to_end(history).with_columns(run=pl.lit(letter))
            for letter, history in histories.items()
        ]
    )


def _percentiles(histories: dict[str, History]) -> pl.DataFrame | None:
    found = _latencies(histories)
    named = found.with_columns(to=pl.format("{} of {}", "to", "run"))
    return None if found.is_empty() else percentiles(named).rename({"to": "latency"})


def distributions(histories: dict[str, History]) -> Figure | Absent:
    """Which share of the records had at most which latency, in both runs."""
    name, title = "comparison_latency", "Distribution of end-to-end latency, A and B"
    found = _latencies(histories)
    if found.is_empty():
        return Absent(name=name, title=title, reason="No consumer of either run saw a record.")
    quantiles = [
        pl.col("latency_s").quantile(share, "higher").alias(str(share)) for share in SHARES
    ]
    table = (
        found.group_by("to", "run")
        .agg(*quantiles)
        .unpivot(index=["to", "run"], variable_name="share", value_name="latency_s")
        .with_columns(pl.col("share").cast(pl.Float64))
        .sort("to", "run", "share")
    )
    scale = alt.Scale(
        type="log" if found["latency_s"].cast(pl.Float64).le(0).sum() == 0 else "linear", nice=False
    )
    chart = (
        alt.Chart(rows(table.with_columns(pl.col("latency_s").round_sig_figs(5))))
        .mark_line(interpolate="step-before")
        .encode(
            alt.X(
                "latency_s:Q",
                title="latency in s",
                scale=scale,
                axis=alt.Axis(format="~r", labelOverlap=True),
            ),
            alt.Y(
                "share:Q",
                title="share of records",
                axis=alt.Axis(format="%", minExtent=44),
                scale=alt.Scale(domain=[0, 1]),
            ),
            alt.Color("run:N", legend=alt.Legend(symbolType="stroke")),
            alt.StrokeDash("to:N"),
            tooltip=[
                alt.Tooltip("run:N"),
                alt.Tooltip("to:N"),
                alt.Tooltip("share:Q", format=".1%"),
                alt.Tooltip("latency_s:Q", format=".4~r"),
            ],
        )
        .properties(height=300)
    )
    caption = "The share of records that were seen within a latency; one colour for each run. Records never seen are not in it."
    return Figure(name=name, title=title, caption=caption, chart=chart, table=table)
