"""The topology: nodes at their planned positions with their components, links with properties."""

from __future__ import annotations

import math
from typing import Any

import altair as alt
import polars as pl

from streambed.kinds.direction_words import shape_words
from streambed.plan import Plan, PlannedLink, PlannedNode, Port, Shape
from streambed.record.events import Inject
from streambed.record.history import History
from streambed.reports import series
from streambed.reports.figure import Absent, Figure, end_s, rows
from streambed.reports.figures import kafka

LABELS = 40
"""With more links than this, their properties are only in the tooltips."""
WIDTH_PX = 760
"""The drawing keeps its width and is scaled as a whole, so that it fits a phone, too."""
LEADS = 2
"""Most partitions named at a host that leads them; then their number."""
LABEL_AT = 0.42
"""Where the label of a link is, from the host at one end to the switch at the other."""


def topology(plan: Plan | None, history: History | None = None) -> Figure | Absent:
    """Nodes, components and links, and what happened to them."""
    name, title = "topology", "Topology"
    if not plan or not plan.nodes:
        return Absent(
            name=name, title=title, reason="The plan has no node, so there is no network to draw."
        )
    history = history or History()
    places = positions(plan)
    nodes = pl.DataFrame([_node(plan, history, node, places) for node in plan.nodes])
    links = _link_table(plan, history, places)
    labels = links.height <= LABELS
    height_px = max(280, min(720, 110 * _levels(nodes)))
    chart = alt.layer(*_wires(links, labels=labels), *_nodes(nodes)).properties(height=height_px)
    about_links = "Links without a label add neither delay nor limit."
    if not labels:
        about_links = f"There are more than {LABELS} links: point at one for its properties."
    caption = (
        "Circles are hosts, with the components on them; squares are switches. "
        f"A link is as wide as its mean throughput under load. {about_links} "
        "What a fault hit has the fault's colour."
    )
    return Figure(
        name=name,
        title=title,
        caption=caption,
        chart=chart,
        table=links.select("link", "ends", "properties", "mbit_per_s", "fault"),
        fixed_px=WIDTH_PX,
    )


def _link_table(
    plan: Plan, history: History, places: dict[str, tuple[float, float]]
) -> pl.DataFrame:
    switches = {node.name for node in plan.nodes if node.switch}
    flows = flows_bps(history)
    links = [_link(link, places, switches, flows, history) for link in plan.links]
    return pl.DataFrame(links, schema=LINKS, orient="row")


def flows_bps(history: History) -> dict[tuple[str, str], float]:
    """Mean bits per second that each port sent and received under load, by node and interface."""
    sums: dict[tuple[str, str], float] = {}
    grown = series.rates(history, "port_rx_bytes", "port_tx_bytes").filter(pl.col("time_s") > 0)
    means = grown.group_by("metric", "of").agg(pl.col("value").mean())
    for of, bytes_per_s in means.select("of", "value").iter_rows():
        node, _, interface = of.rpartition("/")
        sums[node, interface] = sums.get((node, interface), 0.0) + 8 * bytes_per_s
    return sums


def properties(shapes: tuple[Shape, Shape]) -> str:
    """What a link does to packets; both directions if they differ."""
    there, back = (_shape(shape) for shape in shapes)
    return there if there == back else f"→ {there or 'plain'}  ← {back or 'plain'}"


def _shape(shape: Shape) -> str:
    return " · ".join(shape_words(shape))


def positions(plan: Plan) -> dict[str, tuple[float, float]]:
    """Where each node is drawn: as planned, or on a ring if two planned positions coincide."""
    planned = {node.name: (node.x, node.y) for node in plan.nodes}
    if len(set(planned.values())) == len(planned):
        return planned
    hosts = [node.name for node in plan.nodes if not node.switch]
    switches = [node.name for node in plan.nodes if node.switch]
    inner = 0.0 if len(switches) == 1 else 0.45
    return _ring(hosts, 1.0) | _ring(switches, inner)


def _ring(names: list[str], radius: float) -> dict[str, tuple[float, float]]:
    turns = {
        name: 2 * math.pi * index / len(names) + math.pi / 2 for index, name in enumerate(names)
    }
    return {
        name: (radius * math.cos(turn), radius * math.sin(turn)) for name, turn in turns.items()
    }


LINKS = {name: pl.String for name in ("link", "ends", "properties", "fault")} | {
    name: pl.Float64 for name in ("mbit_per_s", "x", "y", "x2", "y2", "label_x", "label_y")
}


def _link(
    link: PlannedLink,
    places: dict[str, tuple[float, float]],
    switches: set[str],
    flows: dict[tuple[str, str], float],
    history: History,
) -> dict[str, object]:
    first, second = (port.node for port in link.ports)
    near, far = _host_first(link, switches)
    (x, y), (x2, y2) = places[near.node], places[far.node]
    return {
        "link": link.name,
        "ends": f"{first} – {second}",
        "properties": properties(link.shapes),
        "fault": _link_faults(history, {first, second}),
        "mbit_per_s": round(flows.get((near.node, near.interface), 0.0) / 1e6, 4),
        "x": x,
        "y": y,
        "x2": x2,
        "y2": y2,
        "label_x": x + (x2 - x) * LABEL_AT,
        "label_y": y + (y2 - y) * LABEL_AT,
    }


def _host_first(link: PlannedLink, switches: set[str]) -> tuple[Port, Port]:
    """The ports of a link, a host's before a switch's: labels are drawn nearer to the first."""
    near, far = link.ports
    if near.node in switches and far.node not in switches:
        return far, near
    return near, far


def _link_faults(history: History, ends: set[str]) -> str:
    """The faults that hit a link or one of its ends."""
    hit = []
    for event in history.of(Inject):
        hits_link = any(set(pair) == ends for pair in event.links)
        if hits_link or ends & set(event.nodes):
            hit.append(f"F{event.fault + 1} {event.kind}")
    return ", ".join(dict.fromkeys(hit))


def _node(
    plan: Plan,
    history: History,
    node: PlannedNode,
    places: dict[str, tuple[float, float]],
) -> dict[str, object]:
    on_node = [process for process in plan.processes if process.node == node.name]
    names = {process.name for process in on_node}
    hit = [
        f"F{event.fault + 1} {event.kind}"
        for event in history.of(Inject)
        if node.name in event.nodes or names & set(event.processes)
    ]
    x, y = places[node.name]
    return {
        "node": node.name,
        "switch": node.switch,
        "address": node.address,
        "components": ", ".join(dict.fromkeys(process.component for process in on_node)),
        "leads": _leads(history, names),
        "fault": ", ".join(dict.fromkeys(hit)),
        "x": x,
        "y": y,
    }


def _leads(history: History, processes: set[str]) -> str:
    """The partitions that a broker on a host led at some time under load."""
    led = kafka.leaders(history, end_s(history)).filter(pl.col("to_s") > 0)
    broker = pl.format("{}/{}", "component", "leader")
    partitions = (
        led.filter(broker.is_in(list(processes)))["partition"].unique(maintain_order=True).to_list()
    )
    if not partitions:
        return ""
    if len(partitions) > LEADS:
        return f"led {len(partitions)} partitions"
    return f"led {', '.join(partitions)}"


def _levels(nodes: pl.DataFrame) -> int:
    return nodes["y"].round(2).n_unique()


def _at(x: str = "x", y: str = "y") -> tuple[alt.X, alt.Y]:
    scale = alt.Scale(zero=False, nice=False, padding=64)
    return alt.X(f"{x}:Q", axis=None, scale=scale), alt.Y(f"{y}:Q", axis=None, scale=scale)


def _wires(links: pl.DataFrame, *, labels: bool) -> list[alt.Chart]:
    base = alt.Chart(rows(links))
    tooltip = [
        *(alt.Tooltip(f"{column}:N") for column in ("link", "ends", "properties", "fault")),
        alt.Tooltip("mbit_per_s:Q", title="mean Mbit/s", format=".3~r"),
    ]
    width = alt.StrokeWidth(
        "mbit_per_s:Q", legend=None, scale=alt.Scale(type="sqrt", domainMin=0, range=[1.5, 9])
    )
    ends = *_at(), alt.X2("x2:Q"), alt.Y2("y2:Q")
    parts = [
        base.transform_filter(f"{'!' if style == 'wire' else ''}datum.fault")
        .mark_rule(style=style)
        .encode(*ends, width, tooltip=tooltip)
        for style in ("wire", "hit_wire")
    ]
    if not labels:
        return parts
    broken = base.transform_calculate(lines="split(datum.properties, ' · ')")
    text = broken.encode(*_at("label_x", "label_y"), alt.Text("lines:N"))
    return [
        *parts,
        text.mark_text(style="halo", baseline="middle"),
        text.mark_text(style="soft", baseline="middle", tooltip=None),
    ]


def _nodes(nodes: pl.DataFrame) -> list[alt.Chart]:
    columns = ("node", "address", "components", "leads", "fault")
    tooltip = [alt.Tooltip(f"{column}:N") for column in columns]
    hosts = alt.Chart(rows(nodes.filter(~pl.col("switch"))))
    switches = alt.Chart(rows(nodes.filter(pl.col("switch"))))
    hit = alt.Chart(rows(nodes.filter(pl.col("fault") != "")))
    texts = alt.Chart(rows(nodes))
    return [
        hosts.mark_circle(size=320, style="node").encode(*_at(), tooltip=tooltip),
        switches.mark_square(size=260, style="switch").encode(*_at(), tooltip=tooltip),
        hit.mark_circle(size=340, style="hit_node").encode(*_at(), tooltip=tooltip),
        *_node_text(texts, "node", style="label", dy=20, fontWeight="bold"),
        *_node_text(texts, "components", style="soft", dy=34),
        *_node_text(texts, "leads", style="soft", dy=47),
        *_node_text(hit, "fault", style="hit_name", dy=-19),
    ]


def _node_text(chart: alt.Chart, column: str, *, style: str, **mark: Any) -> list[alt.Chart]:
    """The text of a column at each node, twice: a halo in the background's colour, then itself."""
    text = chart.encode(*_at(), alt.Text(f"{column}:N"))
    return [text.mark_text(style="halo", **mark), text.mark_text(style=style, **mark)]
