"""Captures, planned: one agent for each node whose ports are watched."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from streambed.experiment.capture import Capture
from streambed.kinds.components.component import Site
from streambed.plan import PlannedLink, ProcessSpec

CAPTURE = "capture"
"""No component may be called so."""


def captures_of(capture: Capture | None, links: tuple[PlannedLink, ...], site: Site) -> Iterator[ProcessSpec]:
    """The agents that write pcap files. A link is watched at its first end."""
    wanted = {frozenset(ends) for ends in capture.links} if capture else set()
    watched = [link for link in links if not wanted or frozenset(port.node for port in link.ports) in wanted] if capture else []
    for node in dict.fromkeys(link.ports[0].node for link in watched):
        ports = {
            link.name: {"interface": link.ports[0].interface, "file": str(site.directory / "captures" / file_name(link))}
            for link in watched
            if link.ports[0].node == node
        }
        assert capture
        order = {"links": ports, "snap": capture.snap.bytes if capture.snap else 0, "limit": capture.limit.bytes}
        yield ProcessSpec(
            name=f"{CAPTURE}/{node}",
            component=CAPTURE,
            node=node,
            argv=(site.machine.python, "-m", "streambed.agents.capture", json.dumps(order)),
            env=site.variables(CAPTURE, node, ""),
        )


def file_name(link: PlannedLink) -> str:
    """No name of a node has an underscore, so that no two links have the same."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", link.name.replace(" – ", "_")) + ".pcap"
