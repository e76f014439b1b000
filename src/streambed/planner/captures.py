"""Plan captures: one agent for each node whose ports are watched."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from streambed.kinds.components.plan_context import PlanContext
from streambed.kinds.faults.of_links import LinkEnds, links_named
from streambed.plan import CAPTURE, PlannedLink, ProcessSpec
from streambed.record.orders import CaptureOrder, CapturePort

if TYPE_CHECKING:
    from streambed.declare.capture import Capture


def captures_of(
    capture: Capture | None, links: tuple[PlannedLink, ...], context: PlanContext
) -> Iterator[ProcessSpec]:
    """The agents that write pcap files. A link is watched at its first end."""
    if capture is None:
        return
    watched = list(_captured_links(capture, links))
    snap = capture.snap.bytes if capture.snap else 0
    for node, ports in _ports_by_node(watched, context.directory / "captures").items():
        name = f"{CAPTURE}/{node}"
        order = CaptureOrder(links=ports, snap=snap, limit=capture.limit.bytes)
        file = context.order(name, order)
        yield ProcessSpec(
            name=name,
            component=CAPTURE,
            node=node,
            argv=(context.machine.python, "-m", "streambed.agents.capture", file.path),
            env=context.variables(CAPTURE, node, ""),
            files=(file,),
        )


def _ports_by_node(links: list[PlannedLink], folder: Path) -> dict[str, dict[str, CapturePort]]:
    """The port and pcap file of each link, by node and link."""
    ports: dict[str, dict[str, CapturePort]] = {}
    for link in links:
        port = link.ports[0]
        captured = CapturePort(interface=port.interface, file=str(folder / file_name(link)))
        ports.setdefault(port.node, {})[link.name] = captured
    return ports


def _captured_links(capture: Capture, links: tuple[PlannedLink, ...]) -> Iterator[PlannedLink]:
    ends = {link.name: LinkEnds(ends=(link.ports[0].node, link.ports[1].node)) for link in links}
    wanted: set[str] = set()
    for target in capture.links:
        wanted.update(links_named(target, ends))
    for link in links:
        if not capture.links or link.name in wanted:
            yield link


def file_name(link: PlannedLink) -> str:
    """The name of the link's pcap file. Declared names have no plus sign, so no two links share a
    file.
    """
    return re.sub(r"[^A-Za-z0-9_.-]+", "+", link.name).strip("+") + ".pcap"
