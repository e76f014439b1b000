"""Star: hosts around one switch."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from streambed.declare.generators.generator import (
    Count,
    Made,
    direction_problems,
    links_between,
    numbered_names,
    too_large,
)
from streambed.errors import Problem
from streambed.kinds.declaring import declared
from streambed.kinds.direction import Direction


@declared
class Star:
    """Hosts h1, h2 … on the switch s1."""

    kind: Literal["star"] = "star"
    hosts: Count
    """How many hosts there are."""
    link: Direction | None = None
    """What the link of each host does."""

    def problems(self, base: Path) -> list[Problem]:
        """Sizes have limits, and links are possible."""
        return too_large(self.hosts + 1, self.hosts) + direction_problems(link=self.link)

    def make(self, base: Path) -> Made:
        """The switch and its hosts."""
        hosts = numbered_names("h", self.hosts)
        return Made(
            switches=("s1",),
            hosts=hosts,
            links=tuple(links_between(((host, "s1") for host in hosts), self.link)),
        )
