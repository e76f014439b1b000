"""Turn rows into tables, plots and the README."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import altair as alt
import polars as pl
import vl_convert

from streambed.record.statistics import summary_of

HERE = Path(__file__).parent
RESULTS = HERE / "results"
Row = dict[str, Any]
"""The values of one repetition at one point."""


def points(rows: pl.DataFrame, by: Sequence[str], value: str) -> pl.DataFrame:
    """Mean of each point over its repetitions, with its 95 % interval."""
    made = []
    for key, group in rows.group_by(by, maintain_order=True):
        summary = summary_of(group[value].to_list())
        made.append(
            dict(zip(by, key, strict=True))
            | {
                value: summary.mean,
                "low": summary.low,
                "high": summary.high,
                "repetitions": len(group),
            }
        )
    return pl.DataFrame(made)


def lines(
    table: pl.DataFrame, *, x: str, y: str, color: str, titles: dict[str, str], log: bool = False
) -> alt.Chart:
    """A line for each colour, with intervals."""
    scale = alt.Scale(type="log") if log else alt.Undefined
    base = alt.Chart(table).encode(
        x=alt.X(f"{x}:Q", title=titles[x], scale=scale),
        color=alt.Color(f"{color}:N", title=titles.get(color, color)),
    )
    line = base.mark_line(point=True).encode(y=alt.Y(f"{y}:Q", title=titles[y]))
    return alt.layer(line, base.mark_rule().encode(y="low:Q", y2="high:Q")).properties(
        width=420, height=260
    )


def bars(table: pl.DataFrame, *, x: str, y: str, titles: dict[str, str]) -> alt.Chart:
    """A bar for each case, with intervals."""
    base = alt.Chart(table).encode(x=alt.X(f"{x}:N", title=titles[x], sort=None))
    bar = base.mark_bar(width=36).encode(y=alt.Y(f"{y}:Q", title=titles[y]))
    return alt.layer(bar, base.mark_rule().encode(y="low:Q", y2="high:Q")).properties(
        width=420, height=260
    )


def keep(name: str, rows: pl.DataFrame, chart: alt.Chart, into: Path = RESULTS) -> None:
    """Write every repetition as CSV, and the plot."""
    into.mkdir(parents=True, exist_ok=True)
    rows.write_csv(into / f"{name}.csv", float_precision=4)
    (into / f"{name}.svg").write_text(vl_convert.vegalite_to_svg(chart.to_json()))


def line(row: Row) -> str:
    """A row as it is printed during an experiment."""
    return ", ".join(f"{name} {_shown(value)}" for name, value in row.items())


def markdown(table: pl.DataFrame) -> str:
    """A table in Markdown."""
    head = f"| {' | '.join(table.columns)} |\n|{'---|' * len(table.columns)}\n"
    return head + "".join(f"| {' | '.join(map(_shown, row))} |\n" for row in table.iter_rows())


def _shown(value: object) -> str:
    if value is None:
        return ""
    return (
        f"{value:,.3g}"
        if isinstance(value, float) and abs(value) < 1000
        else f"{value:,.0f}"
        if isinstance(value, float)
        else str(value)
    )
