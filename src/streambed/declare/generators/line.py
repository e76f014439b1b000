"""Line: switches in a row."""

from __future__ import annotations

from typing import Annotated, Literal

import networkx as nx
from pydantic import Field

from streambed.declare.generators.generator import OfSwitches
from streambed.kinds.declaring import declared
from streambed.kinds.direction import Direction


@declared
class Line(OfSwitches):
    """Switches s1, s2 … in a row, with hosts h1, h2 … on them in the same order."""

    kind: Literal["line"] = "line"
    switches: Annotated[int, Field(strict=True, ge=1)]
    """How many switches there are."""
    hosts: Annotated[int, Field(strict=True, ge=0)] = 1
    """How many hosts hang on each switch."""
    link: Direction | None = None
    """What each link between switches does."""
    access: Direction | None = None
    """What the link of each host does; default: as `link`."""

    def pairs(self) -> list[tuple[int, int]]:
        """Each switch with the next."""
        return list(nx.path_graph(self.switches).edges)
