"""What a file of the Internet Topology Zoo says: nodes with labels and coordinates, edges with
speeds.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import chain

from streambed.declare.earth import Coordinates
from streambed.declare.generators.generator import Ends, Made
from streambed.declare.generators.link_rates import rate_of
from streambed.declare.stream2gym.graphml import Graph, Item
from streambed.declare.yaml.source import Position
from streambed.errors import Problem, nearest, suggestion
from streambed.units import Bandwidth, count_of

NAME_MAX = 50
UNITS = {"T": 1e12, "G": 1e9, "M": 1e6, "K": 1e3, "": 1.0}
READ = {
    "node": ("label", "Latitude", "Longitude"),
    "edge": ("LinkSpeedRaw", "LinkSpeed", "LinkSpeedUnits", "LinkLabel", "LinkType"),
}
"""The attributes that are read."""
OTHER = {
    "node": (
        "id",
        "Country",
        "Internal",
        "type",
        "hyperedge",
        "doubled",
        "asn",
        "GeocodeCountry",
        "GeocodeId",
        "GeocodeAppend",
        "Network",
    ),
    "edge": (
        "id",
        "key",
        "LinkNote",
        "LinkStatus",
        "Network",
        "dateadded",
        "source",
        "target",
    ),
}
"""Attributes of the zoo's files that have no meaning here."""


@dataclass(frozen=True, kw_only=True)
class Node:
    """A node by its label; `place` is missing if the file gives none."""

    place: Coordinates | None
    line: int


@dataclass(frozen=True, kw_only=True)
class Edge:
    """A link; `rate` is missing if the file gives none."""

    ends: Ends
    rate: Bandwidth | None
    label: str = ""
    """What the rate was read from, if it is no number; also if it names no known rate."""


@dataclass(kw_only=True)
class Zoo:
    """A network of the zoo, with its problems and warnings."""

    nodes: dict[str, Node] = field(default_factory=dict)
    edges: list[Edge] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def refined(self, made: Made, counts: Counter[frozenset[str]]) -> Made:
        """The network with the rates of this file, and with names for links where two nodes have
        several.
        """
        numbers: Counter[frozenset[str]] = Counter()
        links = list(made.links)
        instant = []
        for at, edge in enumerate(self.edges):
            pair = frozenset(edge.ends)
            numbers[pair] += 1
            name = ""
            if counts[pair] > 1:
                name = f"{'-'.join(edge.ends)[:NAME_MAX]}-{numbers[pair]}"
            links[at] = replace(links[at], name=name, rate=edge.rate or links[at].rate)
            if not links[at].delay.ns:
                instant.append(" – ".join(edge.ends))
        notes = list(self.notes)
        if instant:
            notes.append(f"too near for a delay: {', '.join(instant)}")
        return replace(made, links=tuple(links), notes=tuple(notes))

    def report(self, key: str, says: str, file: str, place: Position) -> None:
        """Add a problem at a line and column of the file."""
        self.problems.append(
            Problem(key=key, says=says, file=file, line=place.line, column=place.column)
        )


def zoo_of(graph: Graph, file: str) -> Zoo:
    """The network that a graph describes."""
    zoo = Zoo(notes=[f"{file}: ignored: {ignored}" for ignored in graph.ignored])
    _look_at_attributes(zoo, graph, file)
    names: dict[str, str] = {}
    for node in graph.nodes:
        name = _name(node, zoo, file)
        if node.name in names:
            zoo.report("node", f"there are two nodes with the id '{node.name}'", file, node.place)
        names[node.name] = name
        zoo.nodes[name] = Node(place=_place(node, zoo, file), line=node.place.line)
    for edge in graph.edges:
        _add_edge(zoo, edge, names, file)
    zoo.notes += _label_notes(zoo.edges, file)
    if not zoo.edges and not zoo.problems:
        says = "no edge joins two nodes"
        line = graph.item.place.line
        zoo.problems.append(Problem(key="graph", says=says, file=file, line=line, column=1))
    return zoo


def _look_at_attributes(zoo: Zoo, graph: Graph, file: str) -> None:
    """A name that is nearly that of a known attribute is a mistake; any other unknown name is
    ignored, and noted.
    """
    unknown: dict[str, int] = {}
    for tag, items in (("node", graph.nodes), ("edge", graph.edges)):
        for attribute in chain.from_iterable(item.attributes for item in items):
            name = attribute.names[0]
            if f"{tag} {name}" in unknown or name in READ[tag] or name in OTHER[tag]:
                continue
            unknown[f"{tag} {name}"] = attribute.place.line
            near = nearest(name, READ[tag])
            if near:
                says = f"unknown attribute '{name}' of a {tag}. Did you mean '{near}'?"
                zoo.report(tag, says, file, attribute.place)
    if unknown:
        names = ", ".join(f"{name} (line {line})" for name, line in unknown.items())
        zoo.notes.append(f"{file}: attributes without a meaning here: {names}")


def _value(item: Item, name: str) -> str:
    return next((attribute.value for attribute in item.attributes if name in attribute.names), "")


def _name(node: Item, zoo: Zoo, file: str) -> str:
    """The label as a host name; numbered if another node has it already."""
    label = _value(node, "label")
    plain = unicodedata.normalize("NFKD", label).encode("ascii", "ignore").decode()
    name = re.sub(r"[^A-Za-z0-9]+", "-", plain).strip("-")[:NAME_MAX].rstrip("-")
    if not name or not name[0].isalpha():
        name = f"n-{name or node.name}"
        zoo.notes.append(
            f"{file}:{node.place.line}: the label '{label}' of node {node.name} is no name for a "
            f"host: it is {name} here"
        )
    taken = {known.lower() for known in zoo.nodes}
    number = 2
    single = name
    while name.lower() in taken:
        name = f"{single}-{number}"
        number += 1
    if name != single:
        zoo.notes.append(
            f"{file}:{node.place.line}: another node is called '{label}' already: this one is "
            f"{name} here"
        )
    return name


def _place(node: Item, zoo: Zoo, file: str) -> Coordinates | None:
    texts = [_value(node, name) for name in ("Latitude", "Longitude")]
    if not all(texts):
        return None
    try:
        north, east = map(float, texts)
    except ValueError:
        north, east = 91.0, 181.0
    if abs(north) <= 90 and abs(east) <= 180:
        return north, east
    says = f"Latitude {texts[0]}, Longitude {texts[1]} is not on Earth"
    zoo.report("node", says, file, node.place)
    return None


def _add_edge(zoo: Zoo, edge: Item, names: dict[str, str], file: str) -> None:
    for end in edge.ends:
        if end not in names:
            says = f"there is no node '{end}'. {suggestion(end, names)}"
            zoo.report("edge", says, file, edge.place)
            return
    one, other = (names[end] for end in edge.ends)
    if one == other:
        zoo.notes.append(f"{file}:{edge.place.line}: a link from {one} to itself is left out")
        return
    zoo.edges.append(_edge(zoo, edge, (one, other), file))


def _edge(zoo: Zoo, edge: Item, ends: Ends, file: str) -> Edge:
    """The link with its rate: from its speed, or else from its label."""
    if rates := list(_rates(edge)):
        return Edge(ends=ends, rate=rates[0])
    if label := _rate_label(edge):
        return Edge(ends=ends, rate=rate_of(label), label=label)
    if _value(edge, "LinkSpeedRaw") or _value(edge, "LinkSpeed"):
        link = f"{ends[0]} – {ends[1]}"
        zoo.notes.append(
            f"{file}:{edge.place.line}: the speed of {link} is not a number: it has no rate from "
            "this file"
        )
    return Edge(ends=ends, rate=None)


def _rate_label(edge: Item) -> str:
    """The text that names the rate of a link: one that is understood, or else the first."""
    texts = [_value(edge, name) for name in ("LinkLabel", "LinkType")]
    labels = [text for text in texts if text]
    understood_ones = [text for text in labels if rate_of(text)]
    return next(iter(understood_ones or labels), "")


def _label_notes(edges: list[Edge], file: str) -> Iterator[str]:
    """Which rates were read from labels, and which labels name no known rate."""
    rates = {edge.label: edge.rate for edge in edges if edge.label}
    counts = Counter(edge.label for edge in edges if edge.label)
    known = [
        f"'{label}' is {rate} ({count_of(counts[label], 'link')})"
        for label, rate in rates.items()
        if rate
    ]
    unknown = [
        f"'{label}' ({count_of(counts[label], 'link')})"
        for label, rate in rates.items()
        if rate is None
    ]
    if known:
        yield f"{file}: rates by label: {', '.join(known)}"
    if unknown:
        yield f"{file}: labels that name no known rate, so no rate is used: {', '.join(unknown)}"


def _rates(edge: Item) -> Iterator[Bandwidth]:
    """LinkSpeedRaw is in bit/s; LinkSpeed has its unit beside it."""
    unit = _value(edge, "LinkSpeedUnits")[:1].upper()
    for text, size in (
        (_value(edge, "LinkSpeedRaw"), 1.0),
        (_value(edge, "LinkSpeed"), UNITS.get(unit, 0.0)),
    ):
        try:
            speed = float(text) * size
        except ValueError:
            continue
        if 0 < speed < float("inf"):
            yield Bandwidth(round(speed))
