"""Capture: which links have their packets written into files."""

from __future__ import annotations

from streambed.errors import Problem
from streambed.kinds.declaring import declared
from streambed.kinds.faults.of_links import Links, LinkTarget, link_problems
from streambed.units import Size

SNAP_LEAST = Size(64)
LIMIT_LEAST = Size(10_000)


@declared
class Capture:
    """Writes packets into captures/ in the run's folder, one pcap file for each link."""

    links: tuple[LinkTarget, ...] = ()
    """The two ends of each link, or its name; default: all links."""
    snap: Size | None = None
    """How much of the beginning of each packet is kept; default: all of it."""
    limit: Size = Size(100e6)
    """The largest size of a file: later packets are not kept, and the run reports it."""

    def problems(self, links: Links) -> list[Problem]:
        """Links that do not exist, and sizes that are too small; keys relative to `capture`."""
        wrong: list[Problem] = []
        for at, target in enumerate(self.links):
            wrong += link_problems(target, "", links, f"links.{at}")
        if self.snap and self.snap < SNAP_LEAST:
            says = f"{self.snap} is too little to tell packets apart: give {SNAP_LEAST} or more"
            wrong.append(Problem(key="snap", says=says))
        if self.limit < LIMIT_LEAST:
            says = f"{self.limit} is too little: give {LIMIT_LEAST} or more"
            wrong.append(Problem(key="limit", says=says))
        return wrong
