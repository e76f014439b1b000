"""GraphML: a graph whose nodes and edges carry attributes, each with its line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

from streambed.declare.yaml.source import Position, bytes_of
from streambed.errors import DeclarationError, Problem

OTHER_PARTS = ("hyperedge", "port", "graph", "endpoint")
"""Elements that GraphML allows in a graph or a node and that have no meaning here."""


@dataclass(frozen=True, kw_only=True)
class Attribute:
    """The value of an attribute, as text. It goes by the name of its key, or else by the key's
    id.
    """

    names: tuple[str, ...]
    value: str
    place: Position


@dataclass(frozen=True, kw_only=True)
class Item:
    """A graph, a node or an edge."""

    name: str
    ends: tuple[str, str] = ("", "")
    attributes: tuple[Attribute, ...]
    place: Position


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
    place: Position
    text: str = ""
    children: list[_Element] = field(default_factory=list)

    def all(self, tag: str) -> list[_Element]:
        return [child for child in self.children if child.tag == tag]


def read(path: Path) -> Graph:
    """The first graph of a file; DeclarationError if there is none."""
    root = _root(path)
    graphs = root.all("graph")
    if not graphs:
        raise _refusal(path, "there is no <graph> in it", root.place)
    graph, *others = graphs
    keys = {key.attributes.get("id", ""): key for key in root.all("key")}
    ignored = []
    for other in others:
        name = other.attributes.get("id", "")
        ignored.append(f"the graph '{name}': only the first graph of a file is read")
    return Graph(
        item=_item(graph, keys, "graph"),
        nodes=tuple(_item(node, keys, "node") for node in graph.all("node")),
        edges=tuple(_item(edge, keys, "edge") for edge in graph.all("edge")),
        ignored=(*ignored, *_without_meaning(graph)),
    )


def _root(path: Path) -> _Element:
    try:
        root = _parse(bytes_of(path))
    except expat.ExpatError as error:
        says = f"this is not XML: {expat.errors.messages[error.code]}"
        raise _refusal(path, says, Position(line=error.lineno, column=error.offset + 1)) from None
    if root.tag != "graphml":
        says = f"this is XML, but not GraphML: it begins with <{root.tag}>"
        raise _refusal(path, says, root.place)
    return root


def _refusal(path: Path, says: str, place: Position) -> DeclarationError:
    problem = Problem(key="", says=says, line=place.line, column=place.column)
    return DeclarationError([problem], str(path))


def _without_meaning(graph: _Element) -> Iterator[str]:
    for item in (graph, *graph.all("node"), *graph.all("edge")):
        for tag in OTHER_PARTS:
            if item.all(tag):
                yield f"<{tag}> in <{item.tag}> {item.attributes.get('id', '')}".rstrip()


def _item(element: _Element, keys: dict[str, _Element], tag: str) -> Item:
    attributes = [_attribute(data, keys) for data in element.all("data")]
    source = element.attributes.get("source", "")
    target = element.attributes.get("target", "")
    return Item(
        name=element.attributes.get("id", ""),
        ends=(source, target),
        attributes=(*attributes, *_defaults(attributes, keys, tag)),
        place=element.place,
    )


def _defaults(
    attributes: list[Attribute], keys: dict[str, _Element], tag: str
) -> Iterator[Attribute]:
    """The default values of keys that an element does not set."""
    named: set[str] = set()
    for attribute in attributes:
        named.update(attribute.names)
    for key in keys.values():
        names = _names(key)
        applies = key.attributes.get("for", "all") in (tag, "all")
        if not applies or named.intersection(names):
            continue
        for default in key.all("default"):
            yield Attribute(names=names, value=default.text.strip(), place=default.place)


def _attribute(data: _Element, keys: dict[str, _Element]) -> Attribute:
    identity = data.attributes.get("key", "")
    names = _names(keys[identity]) if identity in keys else (identity,)
    return Attribute(names=names, value=data.text.strip(), place=data.place)


def _names(key: _Element) -> tuple[str, ...]:
    name = key.attributes.get("attr.name", "")
    identity = key.attributes.get("id", "")
    return tuple(filter(None, dict.fromkeys([name, identity])))


def _parse(content: bytes) -> _Element:
    parser = expat.ParserCreate(namespace_separator=" ")
    above = [_Element("", {}, Position())]

    def start(tag: str, attributes: dict[str, str]) -> None:
        place = Position(line=parser.CurrentLineNumber, column=parser.CurrentColumnNumber + 1)
        element = _Element(tag.rpartition(" ")[2], attributes, place)
        above[-1].children.append(element)
        above.append(element)

    def end(tag: str) -> None:
        above.pop()

    def text(characters: str) -> None:
        above[-1].text += characters

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = text
    parser.buffer_text = True
    parser.Parse(content, True)
    return above[0].children[0]
