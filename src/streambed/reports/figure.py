"""A Figure is a chart with a caption and its table; Absent says why there is none."""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from typing import Any

import altair as alt
import polars as pl

from streambed.record.events import Heal, Inject
from streambed.record.fidelity import fidelity
from streambed.record.history import History
from streambed.reports import series, style

Chart = alt.Chart | alt.LayerChart | alt.FacetChart
WIDTH_PX = 960
"""The width of an SVG file; in the page a figure fills the width."""

FAULTS = {
    "fault": pl.String,
    "what": pl.String,
    "from_s": pl.Float64,
    "to_s": pl.Float64,
    "healed": pl.Boolean,
}
DOUBTS = {"doubt": pl.String, "from_s": pl.Float64, "to_s": pl.Float64, "why": pl.String}


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A chart and its data. `table` has all that was measured, even if the chart shows less."""

    name: str
    title: str
    caption: str
    chart: Chart
    table: pl.DataFrame
    summary: pl.DataFrame | None = None
    """A small table shown beneath the chart."""

    def spec(self, subtitle: str, width: int | str = "container") -> dict[str, Any]:
        """The Vega-Lite specification, with the title and the run as its subtitle."""
        frame = {"width": width, "autosize": {"type": "fit-x", "contains": "padding"}}
        return self._drawn | frame | {"title": {"text": self.title, "subtitle": subtitle}}

    @functools.cached_property
    def _drawn(self) -> dict[str, Any]:
        """The chart without title. Only tests validate it: that takes most of a report's time."""
        spec: dict[str, Any] = json.loads(self.chart.to_json(validate=False))
        spec.pop("config")
        return spec


@dataclass(frozen=True, kw_only=True)
class Absent:
    """A figure that a run has nothing to show for."""

    name: str
    title: str
    reason: str


def rows(table: pl.DataFrame) -> alt.Data:
    """A table as the inline values of a chart. Text is never parsed as dates or numbers."""
    return alt.Data(values=table.to_dicts())  # type: ignore[no-untyped-call]


def end_s(history: History) -> float:
    """The time of the last event or sample, in seconds since the run began."""
    last_event = [event.time for event in history.events[-1:]]
    last_sample = history.samples["time"].top_k(1)
    return history.seconds(max([history.start_ns, *last_event, *last_sample]))


def faults(history: History) -> pl.DataFrame:
    """One row per injected fault: fault, what, from_s, to_s, healed.

    A fault that was never healed lasts to the end of the run.
    """
    healed = {event.fault: history.seconds(event.time) for event in history.of(Heal)}
    injected = [
        {
            "fault": f"F{event.fault + 1}",
            "what": f"{event.kind} {event.target}".strip(),
            "from_s": history.seconds(event.time),
            "to_s": healed.get(event.fault, end_s(history)),
            "healed": event.fault in healed,
        }
        for event in history.of(Inject)
    ]
    return pl.DataFrame(injected, schema=FAULTS)


def doubts(history: History) -> pl.DataFrame:
    """The spans in which the run's fidelity is doubtful: doubt, from_s, to_s, why."""
    spans = [
        {
            "doubt": f"D{number}",
            "from_s": history.seconds(span.start),
            "to_s": history.seconds(span.end),
            "why": span.says,
        }
        for number, span in enumerate(fidelity(history).spans, 1)
    ]
    return pl.DataFrame(spans, schema=DOUBTS)


def time_axis(history: History, column: str = "time_s") -> alt.X:
    """The axis that all plots over time share, so that they line up."""
    domain = [0, max(round(end_s(history), 3), 0.001)]
    scale, axis = alt.Scale(domain=domain, nice=False), alt.Axis(grid=False, tickCount=10)
    return alt.X(f"{column}:Q", title="seconds since the run began", scale=scale, axis=axis)


def shaded(history: History, *layers: alt.Chart) -> Chart:
    """Draw layers over shaded faults and doubtful spans."""
    under, over = [], []
    for table, name, about, y_px in (
        (faults(history), "fault", "what", 9),
        (doubts(history), "doubt", "why", 21),
    ):
        if not table.is_empty():
            base = alt.Chart(rows(table)).encode(time_axis(history, "from_s"))
            times = (alt.Tooltip(f"{column}:Q", format=".1f") for column in ("from_s", "to_s"))
            tooltip = [alt.Tooltip(f"{name}:N"), alt.Tooltip(f"{about}:N"), *times]
            under.append(
                base.mark_rect(style=name, clip=True).encode(alt.X2("to_s:Q"), tooltip=tooltip)
            )
            over.append(
                base.mark_text(style=f"{name}_name", dx=3, clip=True).encode(
                    alt.Text(f"{name}:N"), y=alt.value(y_px)
                )
            )
    return alt.layer(*under, *layers, *over)


def edges(history: History) -> list[alt.Chart]:
    """Lines where faults and doubtful spans begin and end, for charts whose cells hide shades."""
    drawn = []
    for spans, style_name in ((faults(history), "fault_name"), (doubts(history), "doubt_name")):
        if spans.is_empty():
            continue
        times = pl.DataFrame(
            {"from_s": [*spans["from_s"], *spans["to_s"]]}, schema={"from_s": pl.Float64}
        )
        rule = alt.Chart(rows(times)).mark_rule(style=style_name, strokeDash=[3, 3], clip=True)
        drawn.append(rule.encode(time_axis(history, "from_s")))
    return drawn


def lines(
    history: History,
    table: pl.DataFrame,
    *,
    by: str,
    value: str,
    unit: str,
    keep: series.Keep = "mean",
    number: str = "~r",
) -> tuple[Chart, str]:
    """One line for each `by` over shaded faults, and a sentence on what is not drawn."""
    chosen, left_out = series.largest(table, by=by, value=value)
    thinned, thinning = series.thin(chosen, by=by, value=value, keep=keep)
    names = chosen[by].unique(maintain_order=True).sort().to_list()
    pick = alt.selection_point(fields=[by], bind="legend")
    zoom = alt.selection_interval(bind="scales", encodings=["x"], zoom="wheel![event.shiftKey]")
    base = alt.Chart(rows(thinned)).encode(
        time_axis(history),
        alt.Y(
            f"{value}:Q",
            title=unit,
            scale=alt.Scale(zero=True),
            axis=alt.Axis(format=number, minExtent=44),
        ),
    )
    line = base.mark_line(clip=True).encode(
        _dash(by, names),
        alt.Color(f"{by}:N", scale=alt.Scale(domain=names)),
        opacity=alt.condition(pick, alt.value(1.0), alt.value(0.12)),
    )
    tooltip = [
        alt.Tooltip(f"{by}:N"),
        alt.Tooltip("time_s:Q", format=".1f"),
        alt.Tooltip(f"{value}:Q", title=unit, format=f".4{number}"),
    ]
    # Points carry the tooltips. They are visible only if there are too few to draw lines.
    points = base.mark_point(clip=True, opacity=0, size=60, filled=True).encode(tooltip=tooltip)
    if thinned.height < 2 * len(names):
        points = points.mark_point(clip=True, opacity=1, size=60, filled=True).encode(
            alt.Color(f"{by}:N")
        )
    chart = shaded(history, line.add_params(pick, zoom).properties(height=240), points)
    return chart, " ".join(filter(None, (left_out, thinning)))


def _dash(by: str, names: list[str]) -> alt.StrokeDash:
    colours = len(style.COLOURS["light"])
    dashes = [style.DASHES[index // colours % len(style.DASHES)] for index in range(len(names))]
    return alt.StrokeDash(f"{by}:N", scale=alt.Scale(domain=names, range=dashes))
