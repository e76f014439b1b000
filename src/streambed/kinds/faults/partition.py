"""Partition: groups of hosts cannot reach each other until it heals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import chain
from typing import Annotated, Any, Literal

from pydantic import Field

from streambed.errors import Problem, WorldError
from streambed.kinds.declaring import declared
from streambed.kinds.faults.fault import NeedsNothing
from streambed.kinds.faults.of_links import Links
from streambed.kinds.faults.targets import node_problems, resolve_host, roles_among
from streambed.plan import Machine
from streambed.units import Duration
from streambed.world import Injury, World


@declared
class Partition(NeedsNothing):
    """Drop every packet between hosts on different `sides`, from `at` on, for `lasts`."""

    kind: Literal["partition"] = "partition"
    at: Duration
    """Counted from the start of the load."""
    lasts: Duration
    sides: Annotated[
        tuple[Annotated[tuple[str, ...], Field(min_length=1)], ...], Field(min_length=2)
    ]
    """Two or more lists of hosts or roles. Hosts on no side reach all others."""

    @property
    def aim(self) -> str:
        """The sides, as declared."""
        return _sides_text(self.sides)

    @property
    def roles(self) -> Sequence[str]:
        """The roles on any side."""
        return roles_among(chain(*self.sides))

    def problems(
        self, hosts: Sequence[str], links: Links, components: dict[str, Any]
    ) -> list[Problem]:
        """Sides consist of hosts and roles, each named once."""
        targets = {
            f"sides.{side_index}.{index}": target
            for side_index, side in enumerate(self.sides)
            for index, target in enumerate(side)
        }
        unknown = []
        repeated = []
        seen: set[str] = set()
        for key, target in targets.items():
            unknown += node_problems(target, hosts, components, key, "host")
            if target in seen:
                repeated.append(Problem(key=key, says=f"'{target}' is on a side already"))
            seen.add(target)
        return unknown + repeated

    def lacks(self, machine: Machine) -> str:
        """Packets are dropped by nf_tables rules on each host."""
        if machine.filtering:
            return ""
        return "this kernel has no packet rules (nf_tables), which a partition needs"

    def inject(self, world: World) -> Injury:
        """Resolve the roles and separate the sides.

        WorldError if a role is now held by a host that is named on another side.
        """
        hosts, labels = [], []
        for side in self.sides:
            resolved = [resolve_host(target, world) for target in side]
            hosts.append(sorted({host for host, _ in resolved}))
            labels.append([label for _, label in resolved])
        sides_of_host = Counter(chain.from_iterable(hosts))
        torn = [host for host, count in sides_of_host.items() if count > 1]
        if torn:
            raise WorldError(f"{', '.join(torn)} would be on two sides at this moment")
        return Injury(target=_sides_text(labels), heal=world.separate(hosts))


def _sides_text(sides: Sequence[Sequence[str]]) -> str:
    return " | ".join(map(", ".join, sides))
