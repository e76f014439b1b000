"""Repairs of an incomplete file of the Topology Zoo, if the user allows them: nodes without
coordinates, a network in parts. Each repair adds a note that names the nodes concerned.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from dataclasses import replace

from streambed.declare.earth import Coordinates
from streambed.declare.generators.generator import connected_parts
from streambed.declare.generators.zoo import Zoo


def with_places(zoo: Zoo, places: dict[str, Coordinates]) -> Zoo:
    """The network with the coordinates that the user gives."""
    nodes = {
        name: replace(node, place=places.get(name, node.place)) for name, node in zoo.nodes.items()
    }
    return replace(zoo, nodes=nodes)


def nodes_without_coordinates(zoo: Zoo) -> list[str]:
    """The nodes without coordinates."""
    return [name for name, node in zoo.nodes.items() if node.place is None]


def without_unplaced(zoo: Zoo) -> Zoo:
    """The network without nodes that have no coordinates, and without their links."""
    return _without(
        zoo, nodes_without_coordinates(zoo), "left out because they have no coordinates"
    )


def place_by_neighbours(zoo: Zoo) -> Zoo:
    """Put each node without coordinates at the mean of its neighbours, from the placed ones on.

    A node that no path joins with a placed one stays without.
    """
    places = {name: node.place for name, node in zoo.nodes.items() if node.place is not None}
    added: list[str] = []
    while True:
        next_places: dict[str, Coordinates] = {}
        for name in nodes_without_coordinates(zoo):
            around = [places[other] for other in _neighbours(zoo, name) if other in places]
            if name not in places and around:
                next_places[name] = mean_place(around)
        if not next_places:
            break
        places |= next_places
        added += next_places
    if not added:
        return zoo
    note = f"placed at the mean of their neighbours: {', '.join(added)}"
    return replace(with_places(zoo, places), notes=[*zoo.notes, note])


def largest_part(zoo: Zoo) -> Zoo:
    """The largest connected part of the network."""
    outside = outside_largest_part(zoo)
    return _without(zoo, outside, "left out because no path joins them with the largest part")


def outside_largest_part(zoo: Zoo) -> list[str]:
    """The nodes that are not in the largest connected part; of equal parts the first counts."""
    parts = connected_parts([edge.ends for edge in zoo.edges])
    largest = max(parts, key=len, default=set())
    return [name for name in zoo.nodes if name not in largest]


def mean_place(places: Iterable[Coordinates]) -> Coordinates:
    """The middle of some places on the sphere."""
    x = y = z = 0.0
    for latitude, longitude in places:
        north, east = math.radians(latitude), math.radians(longitude)
        x += math.cos(north) * math.cos(east)
        y += math.cos(north) * math.sin(east)
        z += math.sin(north)
    return math.degrees(math.atan2(z, math.hypot(x, y))), math.degrees(math.atan2(y, x))


def _neighbours(zoo: Zoo, name: str) -> list[str]:
    others = []
    for edge in zoo.edges:
        if name in edge.ends:
            others += [end for end in edge.ends if end != name]
    return others


def _without(zoo: Zoo, names: Collection[str], why: str) -> Zoo:
    if not names:
        return zoo
    return replace(
        zoo,
        nodes={name: node for name, node in zoo.nodes.items() if name not in names},
        edges=[edge for edge in zoo.edges if not set(edge.ends) & set(names)],
        notes=[*zoo.notes, f"{why}: {', '.join(names)}"],
    )
