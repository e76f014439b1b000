"""The network of a stream2gym file: hosts h1, h2 …, switches s1, s2 …, links between them, and the
fault that cuts some.
"""

from __future__ import annotations

import re

from streambed.declare.stream2gym.draft import Draft
from streambed.declare.stream2gym.files import KEYS, attributes_of, form_of
from streambed.declare.stream2gym.form import Form
from streambed.declare.stream2gym.graphml import Graph, Item
from streambed.declare.yaml.keys import Path as KeyPath
from streambed.declare.yaml.source import Position
from streambed.errors import suggestion
from streambed.units import Bandwidth, Duration, Share

NODE = re.compile(r"([hs])([1-9][0-9]*)")
HOST_MAX = 254
"""Host h<N> has the address 10.0.0.<N>."""
RATE_MAX_MBPS = 1000
"""stream2gym's links ignored larger values."""
FAULT_AT = 0.1
"""A fault begins after this share of the run."""


def put_topology(draft: Draft, graph: Graph) -> list[Item]:
    """Nodes with the addresses that scripts expect, and links; the nodes whose names are right."""
    nodes = _nodes(draft, graph)
    hosts = [name for name in nodes if name.startswith("h")]
    switches = [name for name in nodes if name.startswith("s")]
    place = graph.item.place
    draft.put(("topology", "switches"), switches, place)
    if not graph.edges:
        draft.put(("topology", "hosts"), hosts, place)
    draft.put(("topology", "addresses"), {}, place)
    for host in hosts:
        draft.put(("topology", "addresses", host), f"10.0.0.{host[1:]}", nodes[host].place)
    _report_unlinked(draft, graph, nodes)
    for edge in graph.edges:
        _report_unknown_ends(draft, graph, edge, nodes)
        if all(end in nodes for end in edge.ends):
            _put_link(draft, edge)
    return list(nodes.values())


def _report_unlinked(draft: Draft, graph: Graph, nodes: dict[str, Item]) -> None:
    if len(nodes) == 1:
        return
    linked: set[str] = set()
    for edge in graph.edges:
        linked.update(edge.ends)
    for name, node in nodes.items():
        if name not in linked:
            draft.wrong(name, "no link ends at it: add an edge, or leave the node out", node.place)


def _report_unknown_ends(draft: Draft, graph: Graph, edge: Item, nodes: dict[str, Item]) -> None:
    declared = {node.name for node in graph.nodes}
    for end in edge.ends:
        if end in declared:
            continue
        says = "source or target is missing"
        if end:
            says = f"there is no node '{end}'. {suggestion(end, nodes)}"
        draft.wrong("edge", says, edge.place)


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
    usual = NODE.fullmatch(name)
    if usual:
        letter, number = usual.groups()
        if letter == "h" and int(number) > HOST_MAX:
            return (
                f"'{name}' has no address: hosts go up to h{HOST_MAX}, because h<N> has the "
                "address 10.0.0.<N>"
            )
        return ""
    letter = "s" if name[:1] in ("s", "S") else "h"
    number = re.sub(r"\D", "", name).lstrip("0") or "1"
    says = f"'{name}' is neither a host (h1, h2 …) nor a switch (s1, s2 …)"
    return f"{says}. Did you mean '{letter}{number}'?"


def _put_link(draft: Draft, edge: Item) -> None:
    form = attributes_of(draft, edge, "edge", "-".join(edge.ends))
    earlier = draft.document.content["topology"].get("links", [])
    path = ("topology", "links", len(earlier))
    draft.put((*path, "ends"), list(edge.ends), edge.place)
    draft.mark(path, edge.place)
    _put_shape(draft, path, form)
    _put_ports(draft, path, form, edge)


def _put_shape(draft: Draft, path: KeyPath, form: Form) -> None:
    delay = Duration(form.real("latency", 1) * 1e6)
    rate = Bandwidth(form.real("bandwidth", RATE_MAX_MBPS) * 1e6)
    loss = Share(form.real("loss", 0, most=100) / 100)
    if rate.bps > RATE_MAX_MBPS * 1e6:
        draft.note("a bandwidth above 1000 is emulated here; stream2gym ignored it", form.node)
    draft.put((*path, "delay"), str(delay), form.at("latency"))
    draft.put((*path, "rate"), str(rate), form.at("bandwidth"))
    if loss.fraction:
        draft.put((*path, "loss"), str(loss), form.at("loss"))


def _put_ports(draft: Draft, path: KeyPath, form: Form, edge: Item) -> None:
    present = [key for key in ("sport", "dport") if key in form]
    if len(present) == 1:
        form.wrong(present[0], "give both sport and dport, or neither")
    source_port = form.number("sport", 0)
    target_port = form.number("dport", 0)
    if len(present) == 2:
        source, target = edge.ends
        ports = [f"{source}-eth{source_port}", f"{target}-eth{target_port}"]
        draft.put((*path, "ports"), ports, form.at("sport"))


def put_faults(draft: Draft, attributes: Form, duration: Duration) -> None:
    """Links that are cut together, once, when a tenth of the run has passed."""
    for key in ("faultConfig", "disconnectionConfig"):
        if key not in attributes:
            continue
        form = form_of(attributes, key)
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
    draft: Draft,
    ends: list[str],
    lasts: Duration,
    duration: Duration,
    place: Position,
    length: Position,
) -> None:
    earlier = draft.document.content.get("faults", [])
    path = ("faults", len(earlier))
    draft.put((*path, "kind"), "cut", place)
    draft.put((*path, "at"), str(Duration(duration.value * FAULT_AT)), place)
    draft.put((*path, "lasts"), str(lasts), length)
    draft.put((*path, "link"), ends, place)
    draft.mark(path, place)
