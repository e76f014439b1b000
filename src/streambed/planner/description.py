"""A plan as text: what `streambed plan` prints."""

from __future__ import annotations

from typing import Any

from streambed.kinds.direction_words import shape_words
from streambed.plan import Allowance, Hop, Plan, PlannedLink, PlannedNode, ProcessSpec, Shape
from streambed.planner.refusals import list_names
from streambed.record.secrets import masked_words
from streambed.units import Duration, Share, Size, count_of

WORD_MAX = 60
"""Longer words of a command line are shortened."""
SHOWN_APART = ("kind", "at", "lasts", "every", "repeat", "churn", "after", "when")
"""Keys of a fault that have their own column."""


def describe(plan: Plan) -> str:
    """The plan as text: a title, then one part for each kind of thing it holds."""
    lines = [_title(plan)]
    for heading, rows in _parts(plan).items():
        if rows:
            lines += ["", heading, *_columns(rows)]
    return "\n".join(lines)


def _title(plan: Plan) -> str:
    switches = sum(node.switch for node in plan.nodes)
    counts = [
        count_of(len(plan.nodes) - switches, "host"),
        count_of(switches, "switch", "es"),
        count_of(len(plan.links), "link"),
        count_of(len(plan.processes), "process", "es"),
    ]
    load = f"{_clock(plan.duration_ns)} of load"
    if plan.warm_up_ns:
        load += f", {_clock(plan.warm_up_ns)} of it warm-up"
    return f"{plan.name}: {', '.join(counts)}, {load}, seed {plan.seed}"


def _parts(plan: Plan) -> dict[str, list[tuple[str, ...]]]:
    """The rows of each part, by its heading."""
    names = {node.address: node.name for node in plan.nodes}
    return {
        "nodes": [
            (node.name, node.address, _routes_text(node, names), _cap_text(node.allowance))
            for node in plan.nodes
        ],
        "links": [_link_row(link) for link in plan.links],
        "routing": _routing(plan.declaration["topology"]),
        "processes": [_process_row(process) for process in plan.processes],
        "exposed": [
            (f"{port.node}:{port.target_port}", f"on http://localhost:{port.port}")
            for port in plan.exposures
        ],
        "timeline": _timeline(plan),
        "notes": [(note,) for note in plan.notes],
    }


def _clock(time_ns: int) -> str:
    minutes, seconds = divmod(time_ns / 1e9, 60)
    if seconds.is_integer():
        return f"{int(minutes)}:{seconds:02.0f}"
    return f"{int(minutes)}:{seconds:05.2f}"


def _columns(rows: list[tuple[str, ...]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        lines.append("  " + "  ".join(cells).rstrip())
    return lines


def _routes_text(node: PlannedNode, names: dict[str, str]) -> str:
    """The destinations of each way out of a node. A block of addresses means the rest of that
    block, so blocks come last.
    """
    destinations: dict[str, list[str]] = {}
    for route in sorted(node.routes, key=lambda route: route.destination not in names):
        hops = [_hop_text(hop, names) for hop in route.hops]
        destination = names.get(route.destination, route.destination)
        if destination == "default":
            destination = "all"
        destinations.setdefault(" or ".join(hops), []).append(destination)
    return "; ".join(f"{list_names(hosts)} by {hops}" for hops, hosts in destinations.items())


def _hop_text(hop: Hop, names: dict[str, str]) -> str:
    return f"{hop.interface}, through {names[hop.via]}" if hop.via else hop.interface


def _cap_text(allowed: Allowance) -> str:
    caps = []
    if allowed.cpu:
        caps.append(f"{Share(allowed.cpu)} of the machine's CPU")
    if allowed.memory_bytes:
        caps.append(f"{Size(allowed.memory_bytes)} of memory")
    return f"at most {' and '.join(caps)}" if caps else ""


def _process_row(process: ProcessSpec) -> tuple[str, ...]:
    allowed = process.allowance
    remarks = [_cap_text(allowed)]
    if allowed.priority:
        remarks.append(f"priority {allowed.priority}")
    if allowed.cores:
        remarks.append(f"on core {', '.join(map(str, allowed.cores))}")
    remarks.append(_on_exit_text(process))
    host = f"on {process.node}"
    if any(remarks):
        host += f" ({', '.join(filter(None, remarks))})"
    command = " ".join(map(_short_word, masked_words(process.argv)))
    return process.name, host, command


def _on_exit_text(process: ProcessSpec) -> str:
    """What happens if it ends unexpectedly; empty for the default: the run fails."""
    texts = {
        "auto": "restarts if it fails after a kill",
        "record": "may fail",
        "restart": "restarts if it fails",
    }
    return texts.get(process.on_exit, "")


def _routing(topology: dict[str, Any]) -> list[tuple[str, ...]]:
    """How routes are chosen; empty if by default."""
    routing = topology["routing"]
    if topology["reroute"]:
        rule = f"other ways from {topology['reroute']} after a link failed"
    elif routing != "least_delay":
        rule = ""
    else:
        return []
    return [(routing.replace("_", " "), rule)]


def _link_row(link: PlannedLink) -> tuple[str, str, str]:
    ends = " – ".join(f"{port.node}/{port.interface}" for port in link.ports)
    if link.named:
        ends = f"{link.name}: {ends}"
    there, back = (_shape_text(shape) for shape in link.shapes)
    shapes = there if there == back else f"{there}; back {back}"
    return ends, shapes, "emulated" if link.emulated else ""


def _shape_text(shape: Shape) -> str:
    return ", ".join(shape_words(shape)) or "as fast as the machine"


def _short_word(word: str) -> str:
    """A word of a command line; class paths are long."""
    if len(word) <= WORD_MAX:
        return word
    return f"({word.count('.jar')} jars)" if ".jar:" in word else f"{word[:WORD_MAX]}…"


def _timeline(plan: Plan) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for injection in plan.injections:
        fault = plan.declaration["faults"][injection.fault]
        others = {key: value for key, value in fault.items() if value and key not in SHOWN_APART}
        options = ", ".join(f"{key} {_plain(value)}" for key, value in others.items())
        start, end = _clock(injection.at_ns), _clock(injection.at_ns + injection.lasts_ns)
        until = f"until {end}" if injection.lasts_ns else ""
        if injection.trigger:
            start = f"from {start}" if injection.at_ns else "any"
            until = f"when {injection.trigger}, for {Duration(injection.lasts_ns)}"
        rows.append((start, fault["kind"], options, until))
    return rows


def _plain(value: object) -> str:
    if not isinstance(value, (list, tuple)):
        return str(value)
    if all(isinstance(part, (list, tuple)) for part in value):
        return " | ".join(map(", ".join, value))
    return " – ".join(map(str, value))
