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
    """What passes links is written into captures/ of the run's folder, a pcap file for each
    link.
    """

    links: tuple[LinkTarget, ...] = ()
    """The two ends of each link, or its name; default: all links."""
    snap: Size | None = None
    """So much of the beginning of each packet is kept; default: all of it."""
    limit: Size = Size(100e6)
    """Each file is no larger: what comes later is not kept, and the run says so."""

    def problems(self, links: Links) -> list[Problem]:
        """What cannot be, given all links; keys relative to it."""
        found = [
            problem
            for at, target in enumerate(self.links)
            for problem in link_problems(target, "", links, f"links.{at}")
        ]
        if self.snap and self.snap < SNAP_LEAST:
            found.append(
                Problem(
                    key="snap",
                    says=f"{self.snap} is too little to tell packets apart: give {SNAP_LEAST} or more",
                )
            )
        if self.limit < LIMIT_LEAST:
            found.append(
                Problem(key="limit", says=f"{self.limit} is too little: give {LIMIT_LEAST} or more")
            )
        return found
