"""Where nodes are drawn: by coordinates if there are any, else as a star, by springs or a circle.

The same network always looks the same.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import networkx as nx

if TYPE_CHECKING:
    from streambed.declare.topology import Topology


SPRINGS_MAX = 400
"""With more nodes, a spring layout takes too long."""
MARGIN = 0.05
BESIDE = 0.09
"""How far apart nodes at the same coordinates are drawn."""

Places = dict[str, tuple[float, float]]


def layout(topology: Topology) -> Places:
    """A point in the unit square for every node."""
    if topology.places:
        return _map(topology)
    nodes = list(topology.nodes())
    if centre := _centre(topology, nodes):
        around = [node for node in nodes if node != centre]
        return _fit({centre: (0.0, 0.0), **_circle(around)})
    circle = _circle(nodes)
    if len(nodes) > SPRINGS_MAX or len(nodes) < 3:
        return _fit(circle)
    graph = nx.Graph()
    graph.add_nodes_from(nodes)
    graph.add_edges_from(link.ends for link in topology.links)
    springs = nx.spring_layout(graph, pos=circle, iterations=60, seed=1, method="force")
    return _fit({node: (float(x), float(y)) for node, (x, y) in springs.items()})


def _centre(topology: Topology, nodes: list[str]) -> str:
    """The node that all others are linked with, if there are no other links; empty if none is."""
    links = {frozenset(link.ends) for link in topology.links}
    if not len(links) == len(nodes) - 1 > 1:
        return ""
    shared = frozenset(nodes).intersection(*links)
    return next(iter(shared), "")


def _map(topology: Topology) -> Places:
    """East to the right, north up. Nodes at the same coordinates, such as a city's switch and its
    hosts, are drawn around them.
    """
    places = _fit(_flat(_all_coordinates(topology)))
    together: dict[tuple[float, float], list[str]] = {}
    for name in (*topology.switches, *topology.host_names()):
        together.setdefault(places[name], []).append(name)
    for (x, y), names in together.items():
        # The circle starts at the top, where the names of others leave most room.
        for name, (down, right) in _circle(names[1:]).items():
            places[name] = (x + BESIDE * right, y - BESIDE * down)
    return _fit(places)


def _flat(coordinates: Places) -> Places:
    """Latitude and longitude on a plane: degrees of longitude are shorter away from the equator."""
    mean_latitude = sum(north for north, _ in coordinates.values()) / len(coordinates)
    narrowing = math.cos(math.radians(mean_latitude))
    return {name: (east * narrowing, north) for name, (north, east) in coordinates.items()}


def _all_coordinates(topology: Topology) -> Places:
    """Latitude and longitude of every node; one without gets those of its nearest neighbour."""
    known = dict(topology.places)
    neighbours: dict[str, list[str]] = {name: [] for name in topology.nodes()}
    for link in topology.links:
        one, other = link.ends
        neighbours[one].append(other)
        neighbours[other].append(one)
    queue = list(known)
    for name in queue:  # The body appends to it.
        new = [near for near in neighbours[name] if near not in known]
        known |= dict.fromkeys(new, known[name])
        queue += new
    return known


def _circle(nodes: list[str]) -> Places:
    """Evenly on a circle, starting at the left."""
    angles = {node: math.pi + 2 * math.pi * at / len(nodes) for at, node in enumerate(nodes)}
    return {node: (math.cos(angle), math.sin(angle)) for node, angle in angles.items()}


def _fit(places: Places) -> Places:
    """Move and stretch the drawing so that it fills the unit square, except the margin."""
    axes = list(zip(*places.values(), strict=True))
    lows = [min(axis) for axis in axes]
    spans = [max(axis) - min(axis) for axis in axes]

    def fit(at: float, low: float, span: float) -> float:
        if span <= 1e-9:
            return 0.5
        return round(MARGIN + (1 - 2 * MARGIN) * (at - low) / span, 4)

    return {
        node: (fit(x, lows[0], spans[0]), fit(y, lows[1], spans[1]))
        for node, (x, y) in places.items()
    }
