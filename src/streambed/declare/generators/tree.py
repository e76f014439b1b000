"""Tree: switches that fan out, with hosts as leaves."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import networkx as nx

from streambed.declare.generators.generator import (
    Count,
    Ends,
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
class Tree:
    """The switch s1 at the root, then s2, s3 … level by level; hosts h1, h2 … hang on the lowest
    switches, from left to right.
    """

    kind: Literal["tree"] = "tree"
    depth: Count
    """How many levels of switches there are."""
    fanout: Count
    """How many switches hang on each switch, or hosts on each of the lowest."""
    link: Direction | None = None
    """What each link between switches does."""
    access: Direction | None = None
    """What the link of each host does; default: as `link`."""

    def problems(self, base: Path) -> list[Problem]:
        """Sizes have limits, and links are possible."""
        nodes = self._switches() + self.fanout**self.depth if self.depth < 100 else 10**100
        return too_large(nodes, nodes - 1) + direction_problems(link=self.link, access=self.access)

    def _switches(self) -> int:
        return sum(self.fanout**level for level in range(self.depth))

    def make(self, base: Path) -> Made:
        """Nodes are counted level by level, so hosts come after all switches."""
        switches = numbered_names("s", self._switches())
        hosts = numbered_names("h", self.fanout**self.depth)
        names = (*switches, *hosts)
        trunk: list[Ends] = []
        leaves: list[Ends] = []
        for above, below in nx.balanced_tree(self.fanout, self.depth).edges:
            links = trunk if below < len(switches) else leaves
            links.append((names[above], names[below]))
        return Made(
            switches=switches,
            hosts=hosts,
            links=(
                *links_between(trunk, self.link),
                *links_between(leaves, self.access or self.link),
            ),
        )
