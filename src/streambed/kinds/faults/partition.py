"""Partition: sets of hosts that no longer hear each other, until it is healed."""

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
from streambed.kinds.faults.targets import found_host, node_problems, roles_among
from streambed.plan import Machine
from streambed.units import Duration
from streambed.world import Injury, World


@declared
class Partition(NeedsNothing):
    """Let no packet pass between hosts of different `sides`, from `at` on, for as long as
    `lasts`.
    """

    kind: Literal["partition"] = "partition"
    at: Duration
    """Counted from the start of the load."""
    lasts: Duration
    sides: Annotated[
        tuple[Annotated[tuple[str, ...], Field(min_length=1)], ...], Field(min_length=2)
    ]
    """Two lists of hosts or roles, or more. Hosts on no side reach everybody."""

    @property
    def aim(self) -> str:
        """The sides."""
        return _shown(self.sides)

    @property
    def roles(self) -> Sequence[str]:
        """Those on its sides."""
        return roles_among(chain(*self.sides))

    def problems(
        self, hosts: Sequence[str], links: Links, components: dict[str, Any]
    ) -> list[Problem]:
        """Sides are hosts or roles, each named once."""
        named = {
            f"sides.{at}.{place}": target
            for at, side in enumerate(self.sides)
            for place, target in enumerate(side)
        }
        found = [
            problem
            for key, target in named.items()
            for problem in node_problems(target, hosts, components, key, "host")
        ]
        first = {target: key for key, target in reversed(named.items())}
        found += [
            Problem(key=key, says=f"'{target}' is on a side already")
            for key, target in named.items()
            if first[target] != key
        ]
        return found

    def lacks(self, machine: Machine) -> str:
        """Hosts need packet rules."""
        return (
            ""
            if machine.filtering
            else "this kernel has no packet rules (nf_tables), which a partition needs"
        )

    def inject(self, world: World) -> Injury:
        """Find who is meant now, and separate them. A role may have come to a host that is named on
        another side.
        """
        sides = [[found_host(target, world) for target in side] for side in self.sides]
        hosts = [sorted({host for host, _ in side}) for side in sides]
        torn = [host for host, count in Counter(chain(*hosts)).items() if count > 1]
        if torn:
            raise WorldError(f"{', '.join(torn)} would be on two sides at this moment")
        return Injury(
            target=_shown([[shown for _, shown in side] for side in sides]),
            heal=world.separate(hosts),
        )


def _shown(sides: Sequence[Sequence[str]]) -> str:
    return " | ".join(map(", ".join, sides))
