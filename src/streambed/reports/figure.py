"""A Figure is a chart with a caption and its table; Absent says in one line why there is none."""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from typing import Any

import altair as alt
import polars as pl

from streambed.record.events import Heal, Inject, Phase
from streambed.record.fidelity import fidelity
from streambed.record.history import History
from streambed.reports import series, style

Chart = alt.Chart | alt.LayerChart | alt.FacetChart | alt.VConcatChart
WIDTH_PX = 960
"""The width of an SVG file; in the page a figure fills the width."""
LANE_AXIS_PX = 120
"""The space left of every lane of a concatenated chart, so that their time axes line up."""
FAULT_ROWS = 3
"""Names of faults are written in this many rows, so that neighbours do not overlap."""
FEW_COUNTS = 5
"""Up to this count, every whole number has a tick."""

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
    folded: bool = False
    """Whether the page shows only its title until a reader opens it."""
    fixed_px: int | None = None
    """The width of a drawing that is scaled as a whole; None: it fills the width."""

    def spec(self, subtitle: str, width: int | str = "container") -> dict[str, Any]:
        """The Vega-Lite specification, with the title and the run as its subtitle."""
        return self.plain_spec(width) | {"title": {"text": self.title, "subtitle": subtitle}}

    def plain_spec(self, width: int | str = "container") -> dict[str, Any]:
        """The Vega-Lite specification without a title. In a page, the lanes of a concatenated chart
        get their width from its script.
        """
        if "vconcat" not in self._drawn:
            width = self.fixed_px or width
            fit = {"width": width, "autosize": {"type": "fit-x", "contains": "padding"}}
            return self._drawn | fit
        lane_px = width - LANE_AXIS_PX - 24 if isinstance(width, int) else WIDTH_PX
        lanes = [lane | {"width": lane_px} for lane in self._drawn["vconcat"]]
        return self._drawn | {"vconcat": lanes}

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


def share_data(spec: dict[str, Any]) -> dict[str, Any]:
    """The same specification with each table once, as a dataset with a name: layers and lanes often
    draw the same rows.
    """
    datasets: dict[str, Any] = {}
    names: dict[str, str] = {}

    def named(part: Any) -> Any:
        if isinstance(part, list):
            return [named(item) for item in part]
        if not isinstance(part, dict):
            return part
        if set(part) == {"values"} and isinstance(part["values"], list):
            text = json.dumps(part["values"])
            name = names.setdefault(text, f"table{len(names)}")
            datasets[name] = part["values"]
            return {"name": name}
        return {key: named(item) if key != "datasets" else item for key, item in part.items()}

    shared: dict[str, Any] = named(spec)
    return shared | {"datasets": datasets}


def rows(table: pl.DataFrame) -> alt.Data:
    """A table as the inline values of a chart. Text is never parsed as dates or numbers."""
    return alt.Data(values=table.to_dicts())  # type: ignore[no-untyped-call]


def end_s(history: History) -> float:
    """The time of the last event or sample, in seconds since the load began."""
    last_event = [event.time for event in history.events[-1:]]
    last_sample = history.samples["time"].top_k(1)
    return history.load_seconds(max([history.zero_ns, *last_event, *last_sample]))


def shown_until_s(history: History) -> float:
    """Where plots end: when the run began to stop, or with the last event or sample."""
    stops = (event.time for event in history.of(Phase) if event.phase == "stop")
    stop_ns = next(stops, None)
    until_s = end_s(history) if stop_ns is None else history.load_seconds(stop_ns)
    return max(round(until_s, 3), 0.001)


def faults(history: History) -> pl.DataFrame:
    """One row per injected fault: fault, what, from_s, to_s, healed.

    A fault that was never healed lasts to the end of the run.
    """
    heals = history.of(Heal)
    injected = []
    for event in history.of(Inject):  # One fault may be injected several times.
        later = (heal for heal in heals if heal.fault == event.fault and heal.time >= event.time)
        heal = next(later, None)
        injected.append(
            {
                "fault": f"F{event.fault + 1}",
                "what": f"{event.kind} {event.target}".strip(),
                "from_s": history.load_seconds(event.time),
                "to_s": history.load_seconds(heal.time) if heal else end_s(history),
                "healed": heal is not None,
            }
        )
    return pl.DataFrame(injected, schema=FAULTS)


def doubts(history: History) -> pl.DataFrame:
    """The spans in which the network was late or otherwise off: doubt, from_s, to_s, why."""
    spans = [
        {
            "doubt": f"D{number}",
            "from_s": history.load_seconds(span.start),
            "to_s": history.load_seconds(span.end),
            "why": span.says,
        }
        for number, span in enumerate(fidelity(history).spans, 1)
    ]
    return pl.DataFrame(spans, schema=DOUBTS)


def time_axis(history: History, column: str = "time_s", *, bare: bool = False) -> alt.X:
    """The axis that all plots over time share: the load and the drain, without the start-up.
    `bare`: without title and labels, for a lane above another.
    """
    since = "run" if history.load_ns is None else "load"
    title = None if bare else f"seconds since the {since} began"
    scale = alt.Scale(domain=[0, shown_until_s(history)], nice=False)
    axis = alt.Axis(grid=False, tickCount=10, labels=not bare, ticks=not bare)
    return alt.X(f"{column}:Q", title=title, scale=scale, axis=axis)


def over_faults(history: History, *layers: alt.Chart, named: bool = True) -> Chart:
    """Draw layers over shaded faults, with their names on top and a strip for doubts beneath.

    `named`: False for a figure that has a row for each fault.
    """
    under, over = [], []
    injected = faults(history)
    if not injected.is_empty():
        under.append(fault_bands(history, injected))
        over += fault_names(history, injected) if named else []
    return alt.layer(*under, *layers, *doubt_strip(history), *over)


def fault_bands(history: History, injected: pl.DataFrame, *, bare: bool = False) -> alt.Chart:
    """A shade from the injection to the healing of each fault."""
    times = (alt.Tooltip(f"{column}:Q", format=".1f") for column in ("from_s", "to_s"))
    tooltip = [alt.Tooltip("fault:N"), alt.Tooltip("what:N"), *times]
    band = alt.Chart(rows(injected)).mark_rect(style="fault", clip=True)
    x = time_axis(history, "from_s", bare=bare)
    bands: alt.Chart = band.encode(x, alt.X2("to_s:Q"), tooltip=tooltip)
    return bands


def fault_names(history: History, injected: pl.DataFrame) -> list[alt.Chart]:
    """The name of each fault at the top of its band; neighbours are in different rows."""
    named = injected.with_columns(name=pl.format("{} {}", "fault", "what"))
    names = []
    for row in range(min(FAULT_ROWS, named.height)):
        part = named.gather_every(FAULT_ROWS, offset=row)
        text = alt.Chart(rows(part)).mark_text(style="fault_name", dx=3, clip=True, limit=240)
        y = alt.value(9 + 11 * row)
        names.append(text.encode(time_axis(history, "from_s"), alt.Text("name:N"), y=y))
    return names


def doubt_strip(history: History, *, bare: bool = False) -> list[alt.Chart]:
    """A thin dashed strip at the bottom edge of a plot where the network was off."""
    spans = doubts(history)
    if spans.is_empty():
        return []
    tooltip = [
        alt.Tooltip("why:N", title="network off"),
        *(alt.Tooltip(f"{column}:Q", format=".1f") for column in ("from_s", "to_s")),
    ]
    strip = alt.Chart(rows(spans)).mark_rule(style="doubt", clip=True)
    y = alt.value(alt.ExprRef("height - 2"))
    x = time_axis(history, "from_s", bare=bare)
    return [strip.encode(x, alt.X2("to_s:Q"), y=y, tooltip=tooltip)]


def edges(history: History) -> list[alt.Chart]:
    """Lines where faults begin and end, for charts whose cells hide shades."""
    spans = faults(history)
    if spans.is_empty():
        return []
    times = pl.DataFrame(
        {"from_s": [*spans["from_s"], *spans["to_s"]]}, schema={"from_s": pl.Float64}
    )
    rule = alt.Chart(rows(times)).mark_rule(style="fault_name", strokeDash=[3, 3], clip=True)
    return [rule.encode(time_axis(history, "from_s"))]


def lines(
    history: History,
    table: pl.DataFrame,
    *,
    by: str,
    value: str,
    unit: str,
    keep: series.Keep = "mean",
    number: str = "~r",
    counts: bool = False,
    breaks: dict[str, list[float]] | None = None,
) -> tuple[Chart, str]:
    """One line for each `by` over shaded faults, and a sentence on what is not drawn.

    A line breaks where samples are missing, or at the times `breaks` of its series, for what has no
    regular samples. `counts` draws steps, with whole numbers on the axis.
    """
    chosen, left_out = series.largest(_within(history, table), by=by, value=value)
    thinned, thinning = series.thin(chosen, by=by, value=value, keep=keep)
    names = chosen[by].unique(maintain_order=True).sort().to_list()
    axis = _count_axis(thinned[value]) if counts else alt.Axis(format=number, minExtent=44)
    y = alt.Y(f"{value}:Q", title=unit, scale=alt.Scale(zero=True), axis=axis)
    broken = _broken(thinned, breaks, by=by, value=value)
    base = alt.Chart(rows(broken)).encode(time_axis(history), y)
    line = _line(base, by=by, names=names, steps=counts).properties(height=200)
    points = _points(base, thinned, by=by, value=value, unit=unit, number=number, few=len(names))
    chart = over_faults(history, line, points)
    return chart, " ".join(filter(None, (left_out, thinning)))


def _line(base: alt.Chart, *, by: str, names: list[str], steps: bool) -> alt.Chart:
    """A line for each name. A click in the legend picks one; Shift and the wheel zoom."""
    pick = alt.selection_point(fields=[by], bind="legend")
    zoom = alt.selection_interval(bind="scales", encodings=["x"], zoom="wheel![event.shiftKey]")
    mark = base.mark_line(
        clip=True,
        interpolate="step-after" if steps else "linear",
        invalid="break-paths-show-path-domains",
    )
    encoded = mark.encode(
        _dash(by, names),
        alt.Color(f"{by}:N", scale=alt.Scale(domain=names)),
        opacity=alt.condition(pick, alt.value(1.0), alt.value(0.12)),
    )
    line: alt.Chart = encoded.add_params(pick, zoom)
    return line


def _broken(
    table: pl.DataFrame, breaks: dict[str, list[float]] | None, *, by: str, value: str
) -> pl.DataFrame:
    """Add a row without a value wherever a line has to break."""
    if breaks is None:
        return series.with_gaps(table, by=by, value=value)
    return series.with_breaks(table, breaks, by=by, value=value)


def _within(history: History, table: pl.DataFrame) -> pl.DataFrame:
    """The rows of the load and the drain, which the axis shows; all rows if there are none."""
    within = table.filter(pl.col("time_s").is_between(0, shown_until_s(history) + 1))
    return table if within.is_empty() else within


def _count_axis(values: pl.Series) -> alt.Axis:
    """Whole numbers only: of small counts every one, of larger ones as many as fit."""
    peak = int(values.cast(pl.Float64).max() or 0)  # type: ignore[arg-type]
    if peak <= FEW_COUNTS:
        return alt.Axis(format="d", minExtent=44, values=list(range(peak + 1)))
    return alt.Axis(format="~s", minExtent=44, tickMinStep=1)


def _points(
    base: alt.Chart,
    thinned: pl.DataFrame,
    *,
    by: str,
    value: str,
    unit: str,
    number: str,
    few: int,
) -> alt.Chart:
    """Points carry the tooltips. They are visible only if there are too few to draw lines."""
    tooltip = [
        alt.Tooltip(f"{by}:N"),
        alt.Tooltip("time_s:Q", format=".1f"),
        alt.Tooltip(f"{value}:Q", title=unit, format=f".4{number}"),
    ]
    visible = thinned.height < 2 * few
    points = base.mark_point(clip=True, opacity=float(visible), size=60, filled=True)
    points = points.encode(tooltip=tooltip)
    if visible:
        points = points.encode(alt.Color(f"{by}:N"))
    drawn: alt.Chart = points
    return drawn


def constant(table: pl.DataFrame, *, by: str, value: str) -> dict[str, float] | None:
    """The value of each series if none of them ever changes; otherwise None."""
    values = table.group_by(by, maintain_order=True).agg(
        pl.col(value).first(), same=pl.col(value).n_unique() == 1
    )
    if not values["same"].all():
        return None
    return dict(values.select(by, value).iter_rows())


def _dash(by: str, names: list[str]) -> alt.StrokeDash:
    colours = len(style.COLOURS["light"])
    dashes = [style.DASHES[index // colours % len(style.DASHES)] for index in range(len(names))]
    return alt.StrokeDash(f"{by}:N", scale=alt.Scale(domain=names, range=dashes))
