"""The network of a stream2gym file: hosts h1, h2 …, switches s1, s2 …, links between them, and the
fault that cuts some.
"""

from __future__ import annotations

import re

from streambed.declare.stream2gym.draft import Draft
from streambed.declare.stream2gym.files import KEYS, attributes_of, form_of
from streambed.declare.stream2gym.form import Form
from streambed.declare.stream2gym.graphml import Graph, Item
from streambed.declare.yaml.source import Place
from streambed.errors import suggestion
from streambed.units import Bandwidth, Duration, Share

NODE = re.compile(r"([hs])([1-9][0-9]*)")
HOST_MAX = 254
"""Host h<N> has the address 10.0.0.<N>."""
RATE_MAX_MBPS = 1000
"""Links of stream2gym ignored more."""
FAULT_AT = 0.1
"""A fault begins when so much of the run has passed."""


def put_topology(draft: Draft, graph: Graph) -> list[Item]:
    """Nodes with the addresses that scripts expect, and links; the nodes whose names are right."""
    nodes = _nodes(draft, graph)
    draft.put(
        ("topology", "switches"), [name for name in nodes if name.startswith("s")], graph.item.place
    )
    if not graph.edges:
        draft.put(
            ("topology", "hosts"),
            [name for name in nodes if name.startswith("h")],
            graph.item.place,
        )
    draft.put(("topology", "addresses"), {}, graph.item.place)
    for name, node in nodes.items():
        if name.startswith("h"):
            draft.put(("topology", "addresses", name), f"10.0.0.{name[1:]}", node.place)
    linked = {end for edge in graph.edges for end in edge.ends}
    for name, node in nodes.items():
        if name not in linked and len(nodes) > 1:
            draft.wrong(name, "no link ends at it: add an edge, or leave the node out", node.place)
    declared = {node.name for node in graph.nodes}
    for edge in graph.edges:
        strangers = [end for end in edge.ends if end not in declared]
        for end in strangers:
            says = (
                f"there is no node '{end}'. {suggestion(end, nodes)}"
                if end
                else "source or target is missing"
            )
            draft.wrong("edge", says, edge.place)
        if all(end in nodes for end in edge.ends):
            _put_link(draft, edge)
    return list(nodes.values())


def _nodes(draft: Draft, graph: Graph) -> dict[str, Item]:
    nodes: dict[str, Item] = {}
    for node in graph.nodes:
        says = _wrong_name(node.name)
        if node.name in nodes:
            says = f"'{node.name}' is in line {nodes[node.name].place.line} already"
        if says:
            draft.wrong("node", says, node.place)
        else:
            nodes[node.name] = node
    return nodes


def _wrong_name(name: str) -> str:
    found = NODE.fullmatch(name)
    if found:
        beyond = found[1] == "h" and int(found[2]) > HOST_MAX
        return (
            f"'{name}' has no address: hosts go up to h{HOST_MAX}, because h<N> has the address "
            "10.0.0.<N>"
            if beyond
            else ""
        )
    letter = "s" if name[:1] in ("s", "S") else "h"
    number = re.sub(r"\D", "", name).lstrip("0") or "1"
    says = f"'{name}' is neither a host (h1, h2 …) nor a switch (s1, s2 …)"
    return f"{says}. Did you mean '{letter}{number}'?"


def _put_link(draft: Draft, edge: Item) -> None:
    name = "-".join(edge.ends)
    form = attributes_of(draft, edge, "edge", name)
    path = ("topology", "links", len(draft.document.content["topology"].get("links", [])))
    draft.put((*path, "ends"), list(edge.ends), edge.place)
    draft.mark(path, edge.place)
    delay = Duration(form.real("latency", 1) * 1e6)
    rate = Bandwidth(form.real("bandwidth", RATE_MAX_MBPS) * 1e6)
    loss = Share(form.real("loss", 0, most=100) / 100)
    if rate.bps > RATE_MAX_MBPS * 1e6:
        draft.note("a bandwidth above 1000 is emulated here; stream2gym ignored it", name)
    draft.put((*path, "delay"), str(delay), form.at("latency"))
    draft.put((*path, "rate"), str(rate), form.at("bandwidth"))
    if loss.fraction:
        draft.put((*path, "loss"), str(loss), form.at("loss"))
    ports = [key for key in ("sport", "dport") if key in form]
    if len(ports) == 1:
        form.wrong(ports[0], "give both sport and dport, or neither")
    numbers = [form.number(key, 0) for key in ("sport", "dport")]
    if len(ports) == 2:
        draft.put(
            (*path, "ports"),
            [f"{end}-eth{number}" for end, number in zip(edge.ends, numbers, strict=True)],
            form.at("sport"),
        )


def put_faults(draft: Draft, attributes: Form, duration: Duration) -> None:
    """Links that are cut together, once, when a tenth of the run has passed."""
    for key in ("faultConfig", "disconnectionConfig"):
        form = form_of(attributes, key) if key in attributes else None
        if form is None:
            continue
        lasts = Duration(form.real("duration", 60) * 1e9)
        links = [link.strip() for link in form.text("links").split(",") if link.strip()]
        for link in links:
            ends = [end.strip() for end in link.split("-")]
            if len(ends) != 2:
                form.wrong("links", f"'{link}' is not a link: write two nodes, such as s1-h1")
                continue
            _put_cut(draft, ends, lasts, duration, form.at("links"), form.at("duration"))
        if links:
            when = Duration(duration.value * FAULT_AT)
            draft.note(
                f"{key}: the links are cut at {when}, a tenth of the run, and for {lasts} exactly; "
                "before, it was in steps of 10 s"
            )
        form.finish(KEYS["faultConfig"])


def _put_cut(
    draft: Draft, ends: list[str], lasts: Duration, duration: Duration, place: Place, length: Place
) -> None:
    path = ("faults", len(draft.document.content.get("faults", [])))
    draft.put((*path, "kind"), "cut", place)
    draft.put((*path, "at"), str(Duration(duration.value * FAULT_AT)), place)
    draft.put((*path, "lasts"), str(lasts), length)
    draft.put((*path, "link"), ends, place)
    draft.mark(path, place)
