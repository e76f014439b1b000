"""The plan for people: what `streambed plan` prints."""

from __future__ import annotations

from typing import Any

from streambed.kinds.direction_words import shape_words
from streambed.plan import Allowance, Plan, PlannedLink, PlannedNode, ProcessSpec, Shape
from streambed.planner.refusals import listed
from streambed.units import Duration, Share, Size

WORD_MAX = 60
"""Longer words of a command are shortened when it is shown."""


def describe(plan: Plan) -> str:
    """The plan as text."""
    switches = sum(node.switch for node in plan.nodes)
    counts = [
        _count(len(plan.nodes) - switches, "host"),
        _count(switches, "switch", "es"),
        _count(len(plan.links), "link"),
        _count(len(plan.processes), "process", "es"),
    ]
    title = (
        f"{plan.name}: {', '.join(counts)}, {_clock(plan.duration_ns)} of load, seed {plan.seed}"
    )
    names = {node.address: node.name for node in plan.nodes}
    parts: dict[str, list[tuple[str, ...]]] = {
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
    return "\n".join(
        [
            title,
            *(
                line
                for heading, rows in parts.items()
                if rows
                for line in ["", heading, *_columns(rows)]
            ),
        ]
    )


def _count(number: int, noun: str, plural: str = "s") -> str:
    return f"{number} {noun}{'' if number == 1 else plural}"


def _clock(time_ns: int) -> str:
    minutes, seconds = divmod(time_ns / 1e9, 60)
    return f"{int(minutes)}:{seconds:0{2 if seconds.is_integer() else 5}.{0 if seconds.is_integer() else 2}f}"


def _columns(rows: list[tuple[str, ...]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  "
        + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def _routes_text(node: PlannedNode, names: dict[str, str]) -> str:
    """Hosts by way; a block of addresses stands for all in it that have no route of their own, so
    it is told last.
    """
    ways: dict[str, list[str]] = {}
    for route in sorted(node.routes, key=lambda route: route.destination not in names):
        way = " or ".join(
            f"{hop.interface}, through {names[hop.via]}" if hop.via else hop.interface
            for hop in route.hops
        )
        ways.setdefault(way, []).append(
            "all"
            if route.destination == "default"
            else names.get(route.destination, route.destination)
        )
    return "; ".join(f"{listed(hosts)} by {way}" for way, hosts in ways.items())


def _cap_text(allowed: Allowance) -> str:
    cpu = f"{Share(allowed.cpu)} of the machine's CPU" if allowed.cpu else ""
    memory = f"{Size(allowed.memory_bytes)} of memory" if allowed.memory_bytes else ""
    return f"at most {' and '.join(filter(None, [cpu, memory]))}" if cpu or memory else ""


def _process_row(process: ProcessSpec) -> tuple[str, ...]:
    allowed = process.allowance
    priority = f"priority {allowed.priority}" if allowed.priority else ""
    cores = f"on core {', '.join(map(str, allowed.cores))}" if allowed.cores else ""
    limits = ", ".join(filter(None, [_cap_text(allowed), priority, cores]))
    place = f"on {process.node}" + (f" ({limits})" if limits else "")
    return process.name, place, " ".join(map(_shortened, process.argv))


def _routing(topology: dict[str, Any]) -> list[tuple[str, ...]]:
    """How ways are chosen, unless nothing is said about it."""
    reroute = (
        f"other ways from {topology['reroute']} after a link failed" if topology["reroute"] else ""
    )
    return (
        [(topology["routing"].replace("_", " "), reroute)]
        if reroute or topology["routing"] != "least_delay"
        else []
    )


def _link_row(link: PlannedLink) -> tuple[str, str, str]:
    name = f"{link.name}: " if link.named else ""
    ends = name + " – ".join(f"{port.node}/{port.interface}" for port in link.ports)
    there, back = (_shape_text(shape) for shape in link.shapes)
    return (
        ends,
        there if there == back else f"{there}; back {back}",
        "emulated" if link.emulated else "",
    )


def _shape_text(shape: Shape) -> str:
    return ", ".join(shape_words(shape)) or "as fast as the machine"


def _shortened(word: str) -> str:
    """A word of a command; class paths and orders to agents are long."""
    if len(word) <= WORD_MAX:
        return word
    return f"({word.count('.jar')} jars)" if ".jar:" in word else f"{word[:WORD_MAX]}…"


def _timeline(plan: Plan) -> list[tuple[str, ...]]:
    rows = []
    for fault in plan.declaration["faults"]:
        start, lasts = Duration.parse(fault["at"]), Duration.parse(fault["lasts"])
        other = ", ".join(
            f"{key} {_plain(value)}"
            for key, value in fault.items()
            if value and key not in ("kind", "at", "lasts")
        )
        rows.append(
            (
                start.ns,
                (_clock(start.ns), fault["kind"], other, f"until {_clock(start.ns + lasts.ns)}"),
            )
        )
    return [row for _, row in sorted(rows)]


def _plain(value: object) -> str:
    if isinstance(value, (list, tuple)) and all(isinstance(part, (list, tuple)) for part in value):
        return " | ".join(map(", ".join, value))
    return " – ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
