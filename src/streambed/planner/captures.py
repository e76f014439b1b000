"""Captures, planned: one agent for each node whose ports are watched."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from streambed.kinds.components.plan_context import PlanContext
from streambed.kinds.faults.of_links import LinkEnds, meant
from streambed.plan import CAPTURE, PlannedLink, ProcessSpec
from streambed.record.orders import CaptureOrder, CapturePort

if TYPE_CHECKING:
    from streambed.declare.capture import Capture


def captures_of(
    capture: Capture | None, links: tuple[PlannedLink, ...], site: PlanContext
) -> Iterator[ProcessSpec]:
    """The agents that write pcap files. A link is watched at its first end."""
    if capture is None:
        return
    ends = {link.name: LinkEnds(ends=(link.ports[0].node, link.ports[1].node)) for link in links}
    wanted = (
        {name for target in capture.links for name in meant(target, ends)}
        if capture.links
        else set(ends)
    )
    watched = [link for link in links if link.name in wanted]
    for node in dict.fromkeys(link.ports[0].node for link in watched):
        ports = {
            link.name: CapturePort(
                interface=link.ports[0].interface,
                file=str(site.directory / "captures" / file_name(link)),
            )
            for link in watched
            if link.ports[0].node == node
        }
        order = CaptureOrder(
            links=ports, snap=capture.snap.bytes if capture.snap else 0, limit=capture.limit.bytes
        )
        file = site.order(f"{CAPTURE}/{node}", order)
        yield ProcessSpec(
            name=f"{CAPTURE}/{node}",
            component=CAPTURE,
            node=node,
            argv=(site.machine.python, "-m", "streambed.agents.capture", file.path),
            env=site.variables(CAPTURE, node, ""),
            files=(file,),
        )


def file_name(link: PlannedLink) -> str:
    """The name of the link's file; no name that is given has a plus sign, so that no two links have
    the same.
    """
    return re.sub(r"[^A-Za-z0-9_.-]+", "+", link.name).strip("+") + ".pcap"
