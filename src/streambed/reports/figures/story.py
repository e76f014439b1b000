"""The story of a run: faults, leaders, records, latency and delivery on one time axis."""

from __future__ import annotations

import warnings
from typing import Any

import altair as alt
import polars as pl

from streambed.kinds.evidence.course import by_reader
from streambed.record.history import History
from streambed.reports import series
from streambed.reports.figure import (
    LANE_AXIS_PX,
    Absent,
    Chart,
    Figure,
    doubt_strip,
    fault_bands,
    faults,
    rows,
    shown_until_s,
    time_axis,
)
from streambed.reports.figures import delivery, kafka, latency

PARTITIONS, READERS, FAULTS = 6, 4, 8
"""Most partitions, readers and faults drawn."""
ROW_PX = 20
LANE_PX = 110
FEW_PX = 60
"""Narrower segments of leadership have no label; their tooltip names the leader."""
RATES = {"time_s": pl.Float64, "what": pl.String, "per_s": pl.Float64}


def story(history: History, limits_s: dict[str, float]) -> Figure | Absent:
    """All lanes; `limits_s` are the limits of latency by name. Lanes without data are left out."""
    name, title = "story", "What happened"
    if history.load_ns is None:
        return Absent(name=name, title=title, reason="The load never began.")
    step = max(1.0, series.step_s(shown_until_s(history)))
    rates, latencies = record_rates(history, step), slowest(history, step)
    lanes = [
        _fault_lane(history),
        _leader_lane(history),
        _rate_lane(history, rates),
        _latency_lane(history, latencies, limits_s),
        _delivery_lane(history),
    ]
    drawn = [lane for lane in lanes if lane is not None]
    if not drawn:
        reason = "No fault, no leader, and no record of a streambed producer or consumer."
        return Absent(name=name, title=title, reason=reason)
    table = moments(history, rates, latencies, step)
    leaders = "No partition changed its leader."
    if lanes[1] is not None:
        leaders = (
            "Leaders are those that the controller believes in; one is marked dead while its "
            "process does not run."
        )
    caption = (
        f"Point anywhere for the values of that second. {leaders} "
        f"Latency at the time records were due, per {step:g} s."
    )
    return Figure(
        name=name, title=title, caption=caption, chart=_strip(history, drawn, table), table=table
    )


def record_rates(history: History, step: float) -> pl.DataFrame:
    """Records sent, acknowledged and seen per second, in steps from time zero."""
    times = _record_times(history)
    if times.is_empty():
        return pl.DataFrame(schema=RATES)
    column = ((pl.col("time") - history.zero_ns) / 1e9 / step).floor()
    counts = times.group_by("what", column.alias("column")).agg(per_s=pl.len() / step)
    grid = _steps(history, step).join(times.select("what").unique(), how="cross")
    rates = grid.join(counts, on=["what", "column"], how="left")
    filled = rates.select("time_s", "what", per_s=pl.col("per_s").fill_null(0.0))
    return filled.sort("what", "time_s")


def _record_times(history: History) -> pl.DataFrame:
    """When each record was sent, acknowledged and seen: time, what."""
    sent = history.ledger.sent
    tables = [
        sent.select(time="sent", what=pl.lit("sent")),
        sent.select(time="acked", what=pl.lit("acknowledged")),
    ]
    seen = history.ledger.seen.filter(by_reader() & pl.col("producer").is_not_null())
    for group in seen["group"].unique().sort().to_list()[:READERS]:
        of_group = seen.filter(pl.col("group") == group)
        tables.append(of_group.select(time="seen", what=pl.lit(f"seen by {group}")))
    return pl.concat([table.cast({"time": pl.Int64}) for table in tables]).drop_nulls("time")


def _steps(history: History, step: float) -> pl.DataFrame:
    """The steps of the time axis: column, time_s (the middle)."""
    number = max(1, int(shown_until_s(history) / step))
    column = pl.int_range(0, number, eager=True).cast(pl.Float64)
    return pl.DataFrame({"column": column}).with_columns(time_s=(pl.col("column") + 0.5) * step)


def slowest(history: History, step: float) -> pl.DataFrame:
    """p50 and p99 per step: time_s, to, p50, p99; of the readers whose p99 is highest."""
    latencies = latency.end_to_end(history)
    middle = ((pl.col("due_s") / step).floor() + 0.5) * step
    steps = latencies.group_by("to", middle.alias("time_s")).agg(
        pl.col("latency_s").quantile(0.5, "higher").alias("p50"),
        pl.col("latency_s").quantile(0.99, "higher").alias("p99"),
    )
    worst = steps.group_by("to").agg(pl.col("p99").max()).sort("p99", "to", descending=True)
    drawn = worst["to"].head(READERS).to_list()
    return steps.filter(pl.col("to").is_in(drawn)).sort("to", "time_s")


def moments(
    history: History, rates: pl.DataFrame, latencies: pl.DataFrame, step: float
) -> pl.DataFrame:
    """What the cursor shows: one row per step, with a column for each value."""
    table = _faults_and_leaders(history, _steps(history, step)["time_s"])
    if not rates.is_empty():
        wide = rates.pivot(on="what", index="time_s", values="per_s")
        table = table.join(wide, on="time_s", how="left")
    if not latencies.is_empty():
        named = latencies.with_columns(pl.format("p99 {} in s", "to").alias("to"))
        wide = named.pivot(on="to", index="time_s", values="p99")
        table = table.join(wide, on="time_s", how="left")
    return table.with_columns(pl.selectors.float().round_sig_figs(4))


def _faults_and_leaders(history: History, times_s: pl.Series) -> pl.DataFrame:
    """The active faults and the leaders at each time: time_s, faults, leaders."""
    injected = faults(history).with_columns(name=pl.format("{} {}", "fault", "what"))
    leaders = kafka.leaders(history, shown_until_s(history))
    active_faults: list[str] = []
    leaders_then: list[str] = []
    for time_s in times_s:
        inside = (pl.col("from_s") <= time_s) & (pl.col("to_s") > time_s)
        active_faults.append(", ".join(injected.filter(inside)["name"]))
        leaders_then.append(_leaders_text(leaders.filter(inside).head(PARTITIONS)))
    return pl.DataFrame({"time_s": times_s, "faults": active_faults, "leaders": leaders_then})


def _leaders_text(leaders: pl.DataFrame) -> str:
    texts = []
    for row in leaders.iter_rows(named=True):
        dead = " (dead)" if row["dead"] else ""
        texts.append(f"{row['partition']} {row['leader']}{dead}")
    return ", ".join(texts)


def _strip(history: History, lanes: list[Chart], table: pl.DataFrame) -> Chart:
    """All lanes, with a cursor that moves through all of them."""
    cursor = alt.selection_point(
        name="cursor",
        fields=["time_s"],
        nearest=True,
        on="pointermove",
        clear="pointerleave",
        empty=False,
    )
    data = rows(table)
    tooltip = [
        alt.Tooltip(f"{_field(column)}:{'Q' if kind.is_numeric() else 'N'}", title=column)
        for column, kind in table.schema.items()
    ]
    base = alt.Chart(data).encode(_x(history, "time_s"))
    points = base.mark_rule(opacity=0, strokeWidth=12, clip=True).encode(tooltip=tooltip)
    rule = base.mark_rule(style="cursor").transform_filter(cursor)
    layered: list[Chart] = [alt.layer(lane, rule, points) for lane in lanes]
    strip = alt.vconcat(*layered, _axis_lane(history), spacing=6)
    with warnings.catch_warnings():
        # Altair warns that all lanes share one cursor, which is what we want.
        warnings.simplefilter("ignore", UserWarning)
        shared = strip.add_params(cursor)
    drawn: Chart = shared.resolve_scale(color="independent")
    return drawn


def _axis_lane(history: History) -> Chart:
    """The time axis beneath all lanes."""
    ends = pl.DataFrame({"time_s": [0.0, shown_until_s(history)]})
    y = alt.Y("zero:Q", title=None, axis=_lane_axis(labels=False, ticks=False, domain=False))
    axis = alt.Chart(rows(ends.with_columns(zero=0))).mark_point(opacity=0)
    drawn: Chart = axis.encode(time_axis(history), y).properties(height=1)
    return drawn


def _field(column: str) -> str:
    """A column's name as a field of Vega-Lite, in which dots and brackets mean parts."""
    escaped = column.replace("\\", "\\\\")
    for sign in ".[]:":
        escaped = escaped.replace(sign, f"\\{sign}")
    return escaped


def _lane_axis(**more: object) -> alt.Axis:
    return alt.Axis(minExtent=LANE_AXIS_PX, maxExtent=LANE_AXIS_PX, **more)  # type: ignore[arg-type]


def _names(order: list[str]) -> alt.Y:
    axis = _lane_axis(ticks=False, domain=False, grid=False, labelLimit=LANE_AXIS_PX - 8)
    scale = alt.Scale(domain=order, paddingInner=0.16, paddingOuter=0.08)
    return alt.Y("row:N", sort=None, title=None, scale=scale, axis=axis)


def _x(history: History, column: str = "from_s") -> alt.X:
    return time_axis(history, column, bare=True)


def _fault_lane(history: History) -> Chart | None:
    injected = faults(history).head(FAULTS)
    if injected.is_empty():
        return None
    shown = injected.with_columns(row=pl.col("fault"), name=pl.format("{} {}", "fault", "what"))
    order = shown["row"].unique(maintain_order=True).to_list()
    base = alt.Chart(rows(shown)).encode(_x(history), _names(order))
    band = base.mark_bar(style="fault_band", clip=True, cornerRadius=3).encode(alt.X2("to_s:Q"))
    name = base.mark_text(style="fault_name", dx=6, clip=True).encode(alt.Text("name:N"))
    lane: Chart = alt.layer(band, name, *doubt_strip(history, bare=True))
    return lane.properties(height=ROW_PX * len(order) + 4)


def _leader_lane(history: History) -> Chart | None:
    until_s = shown_until_s(history)
    spans = kafka.leaders(history, until_s).filter(pl.col("to_s") > 0)
    order = _partitions_that_moved(spans)
    if not order:
        return None
    shown = _labelled(spans.filter(pl.col("partition").is_in(order)))
    at = _x(history), _names(order)
    bars = alt.Chart(rows(shown)).mark_bar(clip=True, cornerRadius=3, opacity=0.3)
    bars = bars.encode(
        *at,
        alt.X2("to_s:Q"),
        _leader_colour(spans["leader"]),
        tooltip=["partition:N", "label:N", "from_s:Q", "to_s:Q"],
    )
    wide = (pl.col("to_s") - pl.col("from_s")) / until_s * 700 >= FEW_PX
    text = alt.Chart(rows(shown.filter(wide))).mark_text(style="bar_name", dx=6, clip=True)
    lane: Chart = alt.layer(bars, text.encode(*at, alt.Text("label:N")))
    return lane.properties(height=ROW_PX * len(order))


def _labelled(spans: pl.DataFrame) -> pl.DataFrame:
    """Add row and label. Bars begin within the plot, so that the label can be read."""
    label = pl.when("dead").then(pl.format("{}, dead", "leader")).otherwise("leader")
    start_s = pl.col("from_s").clip(lower_bound=0)
    return spans.with_columns(row="partition", label=label, from_s=start_s)


def _leader_colour(leaders: pl.Series) -> Any:
    """A colour for each broker; grey while a partition has no living leader."""
    names = sorted(set(leaders) - {kafka.NOBODY})
    colour = alt.Color("leader:N", scale=alt.Scale(domain=names), legend=None)
    without_leader = "datum.dead || datum.leader == 'nobody'"
    return alt.condition(without_leader, alt.value("#888"), colour)


def _partitions_that_moved(spans: pl.DataFrame) -> list[str]:
    """The partitions whose leader changed most often, by name."""
    counts = spans.group_by("partition").len().filter(pl.col("len") > 1)
    counts = counts.sort("len", "partition", descending=[True, False])
    return sorted(counts["partition"].head(PARTITIONS))


def _lines(
    history: History, table: pl.DataFrame, *, value: str, by: str, unit: str
) -> alt.LayerChart:
    names = table[by].unique(maintain_order=True).to_list()
    drawn = series.with_gaps(table.select("time_s", by, value), by=by, value=value)
    legend = alt.Legend(
        orient="top-right", direction="vertical", columns=1, fillColor=None, padding=2, offset=2
    )
    axis = _lane_axis(format="~s", tickCount=3, tickMinStep=alt.Undefined)
    chart = alt.Chart(rows(drawn.with_columns(pl.col(value).round_sig_figs(4))))
    line = chart.mark_line(clip=True, invalid="break-paths-show-path-domains").encode(
        _x(history, "time_s"),
        alt.Y(f"{value}:Q", title=unit, scale=alt.Scale(zero=True), axis=axis),
        alt.Color(f"{by}:N", scale=alt.Scale(domain=names), legend=legend),
    )
    return _between_faults_and_doubts(history, line.properties(height=LANE_PX))


def _between_faults_and_doubts(history: History, chart: alt.Chart) -> alt.LayerChart:
    injected = faults(history)
    under = [] if injected.is_empty() else [fault_bands(history, injected, bare=True)]
    lane: alt.LayerChart = alt.layer(*under, chart, *doubt_strip(history, bare=True))  # type: ignore[assignment]
    return lane


def _rate_lane(history: History, rates: pl.DataFrame) -> Chart | None:
    if rates.is_empty():
        return None
    order = {"sent": 0, "acknowledged": 1}
    ordered = rates.sort(pl.col("what").replace_strict(order, default=2), "what", "time_s")
    return _lines(history, ordered, value="per_s", by="what", unit="records/s")


def _latency_lane(
    history: History, latencies: pl.DataFrame, limits_s: dict[str, float]
) -> Chart | None:
    if latencies.is_empty():
        return None
    long = latencies.unpivot(
        on=["p50", "p99"], index=["to", "time_s"], variable_name="statistic", value_name="latency_s"
    )
    if latencies["to"].n_unique() > 1:
        long = long.filter(pl.col("statistic") == "p99")
    named = long.with_columns(line=pl.format("{} {}", "statistic", "to")).sort("line", "time_s")
    lane = _lines(history, named, value="latency_s", by="line", unit="latency in s")
    highest_s = max(named["latency_s"].to_list())
    # A limit far above all latencies would press them onto the axis; the verdict names it.
    near = {name: limit_s for name, limit_s in limits_s.items() if limit_s <= 4 * highest_s}
    if not near:
        return lane
    rule, text = _limit_marks(near)
    limited: Chart = lane + rule + text
    return limited


def _limit_marks(limits_s: dict[str, float]) -> tuple[alt.Chart, alt.Chart]:
    """A line and a name for each limit of latency."""
    table = pl.DataFrame({"name": list(limits_s), "limit_s": list(limits_s.values())})
    base = alt.Chart(rows(table)).encode(alt.Y("limit_s:Q"))
    rule = base.mark_rule(style="limit")
    text = base.mark_text(style="limit_name").encode(alt.Text("name:N"), x=alt.value(4))
    return rule, text


def _delivery_lane(history: History) -> Chart | None:
    if history.ledger.sent.is_empty():
        return None
    counts, step = delivery.records_by_step(history)
    if counts.is_empty():
        return None
    shown, _ = delivery.rows_to_draw(counts)
    spans = delivery.spans(shown, step).with_columns(row=pl.format("{} → {}", "producer", "reader"))
    order = spans["row"].unique(maintain_order=True).to_list()[:FAULTS]
    first_rows = spans.filter(pl.col("row").is_in(order))
    cells = delivery.cells(first_rows, (_x(history), _names(order)))
    lane: Chart = cells.properties(height=ROW_PX * len(order))
    return lane
