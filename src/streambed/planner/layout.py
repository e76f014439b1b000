"""Where nodes are drawn: by their places on Earth, a star as a star, others by springs, very many
in a circle.

The same network always looks the same.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import networkx as nx

if TYPE_CHECKING:
    from streambed.declare.topology import Topology


SPRINGS_MAX = 400
"""With more nodes springs take too long."""
MARGIN = 0.05
BESIDE = 0.09
"""How far from its place a node is drawn that shares it with another."""

Places = dict[str, tuple[float, float]]


def layout(topology: Topology) -> Places:
    """A place in the unit square for every node."""
    if topology.places:
        return _map(topology)
    graph = nx.Graph()
    graph.add_nodes_from(topology.nodes())
    graph.add_edges_from(link.ends for link in topology.links)
    centre = [node for node in graph if graph.degree(node) == len(graph) - 1]
    if centre and graph.number_of_edges() == len(graph) - 1 > 1:
        return _fitted(
            {centre[0]: (0.0, 0.0), **_circle([node for node in graph if node != centre[0]])}
        )
    if len(graph) > SPRINGS_MAX or len(graph) < 3:
        return _fitted(_circle(list(graph)))
    springs = nx.spring_layout(
        graph, pos=_circle(list(graph)), iterations=60, seed=1, method="force"
    )
    return _fitted({node: (float(x), float(y)) for node, (x, y) in springs.items()})


def _map(topology: Topology) -> Places:
    """East to the right, north up. A node without a place of its own has that of its nearest
    neighbour with one.

    Nodes in the same place, such as a city's switch and its hosts, are drawn around it.
    """
    known = dict(topology.places)
    ahead = list(known)
    beside: dict[str, list[str]] = {name: [] for name in topology.nodes()}
    for one, other in (ends for link in topology.links for ends in (link.ends, link.ends[::-1])):
        beside[one].append(other)
    for name in ahead:  # It grows on the way.
        new = [near for near in beside[name] if near not in known]
        known |= dict.fromkeys(new, known[name])
        ahead += new
    narrowing = math.cos(math.radians(sum(north for north, _ in known.values()) / len(known)))
    places = _fitted({name: (east * narrowing, north) for name, (north, east) in known.items()})
    together: dict[tuple[float, float], list[str]] = {}
    for name in (*topology.switches, *topology.host_names()):
        together.setdefault(places[name], []).append(name)
    for (x, y), names in together.items():
        for name, (down, right) in _circle(
            names[1:]
        ).items():  # From the top on, where the names of others leave most room.
            places[name] = (x + BESIDE * right, y - BESIDE * down)
    return _fitted(places)


def _circle(nodes: list[str]) -> Places:
    """Evenly, from the left on."""
    angles = {node: math.pi + 2 * math.pi * at / len(nodes) for at, node in enumerate(nodes)}
    return {node: (math.cos(angle), math.sin(angle)) for node, angle in angles.items()}


def _fitted(places: Places) -> Places:
    """Move and stretch so that the drawing fills the unit square but for its margin."""
    axes = list(zip(*places.values(), strict=True))
    lows = [min(axis) for axis in axes]
    spans = [max(axis) - min(axis) for axis in axes]

    def fitted(at: float, low: float, span: float) -> float:
        return round(MARGIN + (1 - 2 * MARGIN) * (at - low) / span, 4) if span > 1e-9 else 0.5

    return {
        node: (fitted(x, lows[0], spans[0]), fitted(y, lows[1], spans[1]))
        for node, (x, y) in places.items()
    }
