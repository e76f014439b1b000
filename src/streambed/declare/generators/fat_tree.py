"""Fat tree: the network of a data centre, with many equal paths between any two hosts."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Literal

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
class FatTree:
    """Switches with `k` ports each: k²/4 in the core, k pods of k/2 aggregation and k/2 edge
    switches, k/2 hosts on each of these.

    Switches are core1 …, pod1-aggregation1 … and pod1-edge1 …; hosts h1, h2 … hang on the edge
    switches in order.
    """

    kind: Literal["fat_tree"] = "fat_tree"
    k: Count
    """The ports of each switch: an even number."""
    link: Direction | None = None
    """What each link between switches does."""
    access: Direction | None = None
    """What the link of each host does; default: as `link`."""

    def problems(self, base: Path) -> list[Problem]:
        """The number of ports is even; sizes have limits, and links are possible."""
        wrong = []
        if self.k % 2:
            rule = "half of the ports go up and half go down, so give an even number"
            wrong.append(Problem(key="k", says=f"{self.k} is odd: {rule}"))
        nodes = self.k**2 // 4 + self.k**2 + self.k**3 // 4
        links = 3 * self.k**3 // 4
        return (
            wrong + too_large(nodes, links) + direction_problems(link=self.link, access=self.access)
        )

    def make(self, base: Path) -> Made:
        """Each aggregation switch of a pod has its own group of core switches."""
        half = self.k // 2
        core = numbered_names("core", half**2)
        switches = [*core]
        edge_switches: list[str] = []
        to_core: list[Ends] = []
        inside_pods: list[Ends] = []
        for pod in range(1, self.k + 1):
            upper = numbered_names(f"pod{pod}-aggregation", half)
            lower = numbered_names(f"pod{pod}-edge", half)
            switches += [*upper, *lower]
            edge_switches += lower
            to_core += _core_links(core, upper)
            inside_pods += product(upper, lower)
        hosts = numbered_names("h", self.k * half**2)
        leaves = [(host, edge_switches[at // half]) for at, host in enumerate(hosts)]
        trunk_links = links_between(to_core + inside_pods, self.link)
        access_links = links_between(leaves, self.access or self.link)
        return Made(switches=tuple(switches), hosts=hosts, links=(*trunk_links, *access_links))


def _core_links(core: Sequence[str], upper: Sequence[str]) -> list[Ends]:
    """Links from each aggregation switch of a pod to its group of core switches."""
    size = len(upper)
    links: list[Ends] = []
    for at, switch in enumerate(upper):
        group = core[at * size : (at + 1) * size]
        links += [(core_switch, switch) for core_switch in group]
    return links
