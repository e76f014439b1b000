"""Mesh: every switch is linked with every other."""

from __future__ import annotations

from typing import Annotated, Literal

import networkx as nx
from pydantic import Field

from streambed.declare.generators.generator import OfSwitches
from streambed.kinds.declaring import declared
from streambed.kinds.direction import Direction


@declared
class Mesh(OfSwitches):
    """Switches s1, s2 …, each linked with each, with hosts h1, h2 … on them in the same order."""

    kind: Literal["mesh"] = "mesh"
    switches: Annotated[int, Field(strict=True, ge=2)]
    """How many switches there are."""
    hosts: Annotated[int, Field(strict=True, ge=0)] = 1
    """How many hosts hang on each switch."""
    link: Direction | None = None
    """What each link between switches does."""
    access: Direction | None = None
    """What the link of each host does; default: as `link`."""

    def pairs(self) -> list[tuple[int, int]]:
        """Every pair of switches."""
        return list(nx.complete_graph(self.switches).edges)

    def links_count(self) -> int:
        """The number of pairs of switches."""
        return self.switches * (self.switches - 1) // 2
