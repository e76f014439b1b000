"""Capture: which links have their packets written into files."""

from __future__ import annotations

from collections.abc import Sequence

from streambed.errors import Problem, suggestion
from streambed.kinds.declaring import declared
from streambed.units import Size

SNAP_LEAST = Size(64)
LIMIT_LEAST = Size(10_000)


@declared
class Capture:
    """What passes links is written into captures/ of the run's folder, a pcap file for each link."""

    links: tuple[tuple[str, str], ...] = ()
    """The two ends of each link; default: all links."""
    snap: Size | None = None
    """So much of the beginning of each packet is kept; default: all of it."""
    limit: Size = Size(100e6)
    """Each file is no larger: what comes later is not kept, and the run says so."""

    def problems(self, links: Sequence[tuple[str, str]]) -> list[Problem]:
        """What cannot be, given the ends of all links; keys relative to it."""
        known = {frozenset(ends) for ends in links}
        names = [" – ".join(ends) for ends in links]
        found = [
            Problem(key=f"links.{at}", says=f"there is no link {' – '.join(ends)}. {suggestion(' – '.join(ends), names)}")
            for at, ends in enumerate(self.links)
            if frozenset(ends) not in known
        ]
        if self.snap and self.snap < SNAP_LEAST:
            found.append(Problem(key="snap", says=f"{self.snap} is too little to tell packets apart: give {SNAP_LEAST} or more"))
        if self.limit < LIMIT_LEAST:
            found.append(Problem(key="limit", says=f"{self.limit} is too little: give {LIMIT_LEAST} or more"))
        return found
