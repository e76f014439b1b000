"""Figures of switches: one row per port, throughput as colour, so that many ports fit."""

from __future__ import annotations

import altair as alt
import polars as pl

from streambed.plan import Plan
from streambed.record.history import History
from streambed.reports import series
from streambed.reports.figure import (
    Absent,
    Chart,
    Figure,
    edges,
    end_s,
    over_faults,
    rows,
    time_axis,
)
from streambed.reports.figures.network import METRICS, Direction

ROWS = 400
"""Most ports drawn: those with the most traffic."""
CELLS = 12_000
"""Most cells drawn: with many ports a cell lasts longer."""
ROW_PX, LABEL_PX, ROW_LEAST_PX, HEIGHT_PX = 14, 9, 3, 1_500
"""Rows lower than LABEL_PX have no label, only a tooltip."""
CHARACTER_PX, LABELS_PX = 7, 240
"""Space reserved for labels: the browser's font may be wider than the one measured for SVG."""


def switch_ports(history: History, plan: Plan | None, direction: Direction) -> Figure | Absent:
    """Bits per second at every port of every switch."""
    name, title = f"ports_{direction}", f"{direction.capitalize()} by each port of each switch"
    names = port_names(plan)
    if not names:
        reason = "There is no switch, so there is no port of one."
        return Absent(name=name, title=title, reason=reason)
    table = _port_rates(history, names, direction)
    if table.is_empty():
        reason = "Not available: the run recorded less than 2 s."
        return Absent(name=name, title=title, reason=reason)
    shown, left_out = _busiest(table, list(names.values()))
    step = max(1.0, series.step_s(end_s(history), max(1, CELLS // len(shown))))
    cells = _cells(table.filter(pl.col("port").is_in(shown)), step)
    caption = (
        f"Bits {direction} in a second at each port, from the kernel's counters; "
        "behind the arrow is the other end of its link. "
        f"Each cell is the mean of {step:g} s. {left_out}"
    )
    return Figure(
        name=name,
        title=title,
        caption=caption,
        chart=_chart(history, cells, shown),
        table=table,
        summary=_totals(table),
        folded=True,
    )


def _port_rates(history: History, names: dict[str, str], direction: Direction) -> pl.DataFrame:
    """Bits per second at these ports: time_s, port, bit_per_s."""
    bytes_per_s = series.rates(history, METRICS[direction])
    of_switches = bytes_per_s.filter(pl.col("of").is_in(list(names)))
    port = pl.col("of").replace(names)
    return of_switches.select("time_s", port=port, bit_per_s=pl.col("value") * 8)


def port_names(plan: Plan | None) -> dict[str, str]:
    """The label of each port of a switch, by its name in the samples; in the plan's order."""
    if plan is None:
        return {}
    switches = [node.name for node in plan.nodes if node.switch]
    ends = []
    for link in plan.links:
        one, other = link.ports
        ends += [(one, other), (other, one)]
    of_switches = [end for end in ends if end[0].node in switches]
    of_switches.sort(key=lambda end: (switches.index(end[0].node), end[0].index))
    return {
        f"{near.node}/{near.interface}": f"{near.node}/{near.interface} → {far.node}"
        for near, far in of_switches
    }


def _busiest(table: pl.DataFrame, ports: list[str]) -> tuple[list[str], str]:
    """The ports to draw, in this order, and a sentence on those left out. Ports without samples
    are not drawn.
    """
    sampled = set(table["port"])
    order = [port for port in ports if port in sampled]
    if len(order) <= ROWS:
        return order, ""
    totals = (
        table.group_by("port")
        .agg(pl.col("bit_per_s").sum())
        .sort("bit_per_s", "port", descending=[True, False])
    )
    busiest = set(totals["port"].head(ROWS))
    left_out = f"Drawn are the {ROWS} that carried most, of {len(order)}; the table has all."
    return [port for port in order if port in busiest], left_out


def _cells(table: pl.DataFrame, step: float) -> pl.DataFrame:
    """The mean of equal time steps; a sample covers the second before it."""
    column = ((pl.col("time_s") - 0.5) / step).floor()
    means = table.group_by("port", column.alias("column"), maintain_order=True).agg(
        pl.col("bit_per_s").mean().round_sig_figs(4)
    )
    from_s, to_s = ((pl.col("column") + more) * step for more in (0, 1))
    return means.select("port", "bit_per_s", from_s=from_s.round(3), to_s=to_s.round(3))


def _totals(table: pl.DataFrame) -> pl.DataFrame:
    """The ports that carried most."""
    carried = table.group_by("port").agg(
        (pl.col("bit_per_s").mean() / 1e6).round(3).alias("mean Mbit/s"),
        (pl.col("bit_per_s").max() / 1e6).round(3).alias("most Mbit/s"),
    )
    return carried.sort("mean Mbit/s", "port", descending=[True, False]).head(series.SERIES)


def _chart(history: History, cells: pl.DataFrame, order: list[str]) -> Chart:
    """One row per port; the topmost rows are left free for the names of faults and doubts."""
    height_px = max(ROW_LEAST_PX, min(ROW_PX, HEIGHT_PX // len(order)))
    free = [" " * count for count in range(1, 1 + max(1, 24 // height_px))]
    legend = alt.Legend(title="bit/s", format="~s", gradientLength=220, titleOrient="left")
    ramp = alt.Scale(type="sqrt", range="ramp", domainMin=0)
    tooltip = [
        alt.Tooltip("port:N"),
        alt.Tooltip("from_s:Q", format=".1f"),
        alt.Tooltip("to_s:Q", format=".1f"),
        alt.Tooltip("bit_per_s:Q", format=".4~s"),
    ]
    cell = alt.Chart(rows(cells)).mark_rect(clip=True)
    grid = cell.encode(
        time_axis(history, "from_s"),
        _row_axis([*free, *order], named=height_px >= LABEL_PX),
        alt.Color("bit_per_s:Q", scale=ramp, legend=legend),
        alt.X2("to_s:Q"),
        tooltip=tooltip,
    ).properties(height=height_px * (len(order) + len(free)))
    return over_faults(history, grid, *edges(history))


def _row_axis(order: list[str], *, named: bool) -> alt.Y:
    extent_px = min(LABELS_PX, CHARACTER_PX * max(map(len, order))) if named else 0
    axis = alt.Axis(
        ticks=False,
        domain=False,
        grid=False,
        labelLimit=LABELS_PX,
        labels=named,
        minExtent=extent_px,
    )
    scale = alt.Scale(domain=order, paddingInner=0.08, paddingOuter=0)
    return alt.Y("port:N", sort=None, title=None, scale=scale, axis=axis)
