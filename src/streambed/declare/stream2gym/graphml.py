"""GraphML: a graph whose nodes and edges carry attributes, each with the line where it stands."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

from streambed.declare.yaml.source import Place, bytes_of
from streambed.errors import DeclarationError, Problem

SUFFIXES = (".graphml", ".xml")
OTHER_PARTS = ("hyperedge", "port", "graph", "endpoint")
"""What GraphML allows in a graph or a node and nothing here means anything by."""


@dataclass(frozen=True, kw_only=True)
class Attribute:
    """The value of an attribute, as text. It goes by the name of its key, or else by the key's
    id.
    """

    names: tuple[str, ...]
    value: str
    place: Place


@dataclass(frozen=True, kw_only=True)
class Item:
    """A graph, a node or an edge."""

    name: str
    ends: tuple[str, str] = ("", "")
    attributes: tuple[Attribute, ...]
    place: Place


@dataclass(frozen=True, kw_only=True)
class Graph:
    """What a GraphML file says; `ignored` names parts of the file that mean nothing here."""

    item: Item
    nodes: tuple[Item, ...]
    edges: tuple[Item, ...]
    ignored: tuple[str, ...] = ()


@dataclass
class _Element:
    tag: str
    attributes: dict[str, str]
    place: Place
    text: str = ""
    children: list[_Element] = field(default_factory=list)

    def all(self, tag: str) -> list[_Element]:
        return [child for child in self.children if child.tag == tag]


def read(path: Path) -> Graph:
    """The first graph of a file; DeclarationError if there is none."""
    try:
        root = _parsed(bytes_of(path))
    except expat.ExpatError as error:
        says = f"this is not XML: {expat.errors.messages[error.code]}"
        raise DeclarationError(
            [Problem(key="", says=says, line=error.lineno, column=error.offset + 1)], str(path)
        ) from None
    graphs = root.all("graph")
    if root.tag != "graphml" or not graphs:
        says = (
            f"this is XML, but not GraphML: it begins with <{root.tag}>"
            if root.tag != "graphml"
            else "there is no <graph> in it"
        )
        raise DeclarationError(
            [Problem(key="", says=says, line=root.place.line, column=root.place.column)], str(path)
        )
    keys = {key.attributes.get("id", ""): key for key in root.all("key")}
    ignored = [
        f"the graph '{other.attributes.get('id', '')}': only the first graph of a file is read"
        for other in graphs[1:]
    ]
    return Graph(
        item=_item(graphs[0], keys, "graph"),
        nodes=tuple(_item(node, keys, "node") for node in graphs[0].all("node")),
        edges=tuple(_item(edge, keys, "edge") for edge in graphs[0].all("edge")),
        ignored=(*ignored, *_without_meaning(graphs[0])),
    )


def _without_meaning(graph: _Element) -> Iterator[str]:
    for item in (graph, *graph.all("node"), *graph.all("edge")):
        for tag in OTHER_PARTS:
            if item.all(tag):
                yield f"<{tag}> in <{item.tag}> {item.attributes.get('id', '')}".rstrip()


def _item(element: _Element, keys: dict[str, _Element], tag: str) -> Item:
    given = [_attribute(data, keys) for data in element.all("data")]
    named = {name for attribute in given for name in attribute.names}
    defaults = [
        Attribute(names=_names(key), value=default.text.strip(), place=default.place)
        for key in keys.values()
        for default in key.all("default")
        if key.attributes.get("for", "all") in (tag, "all") and not named & set(_names(key))
    ]
    return Item(
        name=element.attributes.get("id", ""),
        ends=(element.attributes.get("source", ""), element.attributes.get("target", "")),
        attributes=(*given, *defaults),
        place=element.place,
    )


def _attribute(data: _Element, keys: dict[str, _Element]) -> Attribute:
    identity = data.attributes.get("key", "")
    names = _names(keys[identity]) if identity in keys else (identity,)
    return Attribute(names=names, value=data.text.strip(), place=data.place)


def _names(key: _Element) -> tuple[str, ...]:
    return tuple(
        filter(
            None, dict.fromkeys([key.attributes.get("attr.name", ""), key.attributes.get("id", "")])
        )
    )


def _parsed(content: bytes) -> _Element:
    parser = expat.ParserCreate(namespace_separator=" ")
    above = [_Element("", {}, Place())]

    def start(tag: str, attributes: dict[str, str]) -> None:
        place = Place(line=parser.CurrentLineNumber, column=parser.CurrentColumnNumber + 1)
        element = _Element(tag.rpartition(" ")[2], attributes, place)
        above[-1].children.append(element)
        above.append(element)

    def end(tag: str) -> None:
        above.pop()

    def text(characters: str) -> None:
        above[-1].text += characters

    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = (
        start,
        end,
        text,
    )
    parser.buffer_text = True
    parser.Parse(content, True)
    return above[0].children[0]
