"""A link: what it does to packets in each direction, and its ports."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cached_property
from typing import Annotated

from pydantic import StringConstraints

from streambed.errors import Problem
from streambed.kinds.declaring import declared
from streambed.kinds.direction import Direction
from streambed.kinds.direction_rules import direction_problems
from streambed.units import Duration

PORT_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,14}")
"""Names of interfaces that the kernel accepts and people can read."""
RESERVED_PORTS = ("all", "default", "lo")
PORT_RULE = (
    "begin with a letter, continue with letters, digits, '-', '_' or '.', 15 characters at most, "
    "and not all, default or lo"
)
NODE_PATTERN = r"^[A-Za-z][A-Za-z0-9-]{0,62}$"
NodeName = Annotated[str, StringConstraints(pattern=NODE_PATTERN)]
"""A host name that every program accepts: Java refuses underscores."""
LINK_PATTERN = r"^([A-Za-z][A-Za-z0-9-]{0,62})?$"
LinkName = Annotated[str, StringConstraints(pattern=LINK_PATTERN)]
"""The same as for a node, or empty."""


@declared
class _Joined:
    ends: tuple[NodeName, NodeName]
    """The two nodes."""


@declared
class Link(Direction, _Joined):
    """A link between two nodes. Both directions are the same, except for what `back` sets."""

    delay: Duration = Duration(0)
    """How long a packet is on its way, in each direction."""
    back: Direction | None = None
    """What differs from the second end to the first."""
    name: LinkName = ""
    """What faults call it, where two nodes have several links."""
    ports: tuple[str, str] | None = None
    """Names of the interfaces at the two ends; default: eth0, eth1 and so on at each node."""

    def direction(self, source: str) -> Direction:
        """The properties for packets that leave `source`."""
        return self._reverse if self.back and source == self.ends[1] else self._outward

    @cached_property
    def _outward(self) -> Direction:
        return Direction().over(self)

    @cached_property
    def _reverse(self) -> Direction:
        return (self.back or Direction()).over(self)

    def problems(self) -> list[Problem]:
        """Values that do not fit together, and wrong names of ports; keys relative to the link."""
        wrong: list[Problem] = []
        one, other = self.ends
        if one == other:
            wrong.append(Problem(key="ends", says=f"'{one}' is linked to itself"))
        wrong += direction_problems(self, self.direction(one))
        if self.back:
            for problem in direction_problems(self.back, self.direction(other)):
                wrong.append(replace(problem, key=f"back.{problem.key}"))
        for end, name in enumerate(self.ports or ()):
            if not PORT_NAME.fullmatch(name) or name in RESERVED_PORTS:
                says = f"'{name}' cannot be the name of an interface: {PORT_RULE}"
                wrong.append(Problem(key=f"ports.{end}", says=says))
        return wrong
