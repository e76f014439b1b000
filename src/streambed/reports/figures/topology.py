"""The topology: nodes at their planned positions with their components, links with properties."""

from __future__ import annotations

import math

import altair as alt
import polars as pl

from streambed.kinds.direction_words import shape_words
from streambed.plan import Plan, PlannedLink, Shape
from streambed.reports.figure import Absent, Figure, rows

LABELS = 40
"""With more links than this, their properties are only in the tooltips."""


def topology(plan: Plan | None) -> Figure | Absent:
    """Nodes, components and links."""
    name, title = "topology", "Topology"
    if not plan or not plan.nodes:
        return Absent(
            name=name, title=title, reason="The plan has no node, so there is no network to draw."
        )
    places = positions(plan)
    nodes = pl.DataFrame(
        [_node(plan, node.name, node.switch, node.address, places) for node in plan.nodes]
    )
    links = pl.DataFrame([_link(link, places) for link in plan.links], schema=LINKS, orient="row")
    labels = links.height <= LABELS
    height_px = max(260, min(720, 90 * _levels(nodes)))
    chart = alt.layer(*_wires(links, labels=labels), *_nodes(nodes)).properties(height=height_px)
    table = links.select("link", "ends", "properties")
    about_links = "Links without a label add neither delay nor limit."
    if not labels:
        about_links = f"There are more than {LABELS} links: point at one for its properties."
    caption = f"Circles are hosts, with the components on them; squares are switches. {about_links}"
    return Figure(name=name, title=title, caption=caption, chart=chart, table=table)


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


LINKS = {name: pl.String for name in ("link", "ends", "properties")} | {
    name: pl.Float64 for name in ("x", "y", "x2", "y2", "label_x", "label_y")
}


def _link(link: PlannedLink, places: dict[str, tuple[float, float]]) -> tuple[str | float, ...]:
    first, second = (port.node for port in link.ports)
    (x, y), (x2, y2) = places[first], places[second]
    return (
        link.name,
        f"{first} – {second}",
        properties(link.shapes),
        x,
        y,
        x2,
        y2,
        (x + x2) / 2,
        (y + y2) / 2,
    )


def _node(
    plan: Plan, name: str, switch: bool, address: str, places: dict[str, tuple[float, float]]
) -> dict[str, object]:
    components = list(
        dict.fromkeys(process.component for process in plan.processes if process.node == name)
    )
    x, y = places[name]
    return {
        "node": name,
        "switch": switch,
        "address": address,
        "components": ", ".join(components),
        "x": x,
        "y": y,
    }


def _levels(nodes: pl.DataFrame) -> int:
    return nodes["y"].round(2).n_unique()


def _at(x: str = "x", y: str = "y") -> tuple[alt.X, alt.Y]:
    scale = alt.Scale(zero=False, nice=False, padding=56)
    return alt.X(f"{x}:Q", axis=None, scale=scale), alt.Y(f"{y}:Q", axis=None, scale=scale)


def _wires(links: pl.DataFrame, *, labels: bool) -> list[alt.Chart]:
    base = alt.Chart(rows(links))
    tooltip = [alt.Tooltip(f"{column}:N") for column in ("link", "ends", "properties")]
    wire = base.mark_rule(style="wire").encode(
        *_at(), alt.X2("x2:Q"), alt.Y2("y2:Q"), tooltip=tooltip
    )
    text = base.encode(*_at("label_x", "label_y"), alt.Text("properties:N"))
    if not labels:
        return [wire]
    return [wire, text.mark_text(style="halo"), text.mark_text(style="soft", tooltip=None)]


def _nodes(nodes: pl.DataFrame) -> list[alt.Chart]:
    tooltip = [alt.Tooltip(f"{column}:N") for column in ("node", "address", "components")]
    hosts, switches = (
        alt.Chart(rows(nodes.filter(pl.col("switch") == kind))) for kind in (False, True)
    )
    text = alt.Chart(rows(nodes)).encode(*_at())
    names, components = text.encode(alt.Text("node:N")), text.encode(alt.Text("components:N"))
    marks = [
        hosts.mark_circle(size=320, style="node").encode(*_at(), tooltip=tooltip),
        switches.mark_square(size=260, style="switch").encode(*_at(), tooltip=tooltip),
    ]
    named = [names.mark_text(style=style, dy=20, fontWeight="bold") for style in ("halo", "label")]
    return [
        *marks,
        *named,
        *(components.mark_text(style=style, dy=35) for style in ("halo", "soft")),
    ]
