"""What a fault is to the rest of streambed."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from streambed.errors import Problem
from streambed.kinds.direction import Way
from streambed.kinds.faults.of_links import Links
from streambed.plan import Machine
from streambed.units import Duration
from streambed.world import Injury, World


@dataclass(frozen=True, kw_only=True)
class LinkChange:
    """What a fault makes of links: packets that leave `source`, or both ends if it is empty, fare
    as `way` says.
    """

    links: tuple[str, ...]
    source: str
    way: Way


class NeedsNothing:
    """What faults answer alike that name no role, touch no link and that every machine can do."""

    def changes_of(self, links: Links) -> LinkChange | None:
        """It gives links no other values."""
        return None

    def possible_outside(self, ours: Collection[str]) -> bool:
        """It needs the emulated network."""
        return False

    @property
    def roles(self) -> Sequence[str]:
        """None."""
        return ()

    def emulated(self, links: Links, components: dict[str, Any]) -> Sequence[str]:
        """None."""
        return ()

    def lacks(self, machine: Machine) -> str:
        """Nothing."""
        return ""


class Fault(Protocol):
    """Something that breaks on the timeline and is healed."""

    @property
    def kind(self) -> str:
        """Its key in the table of kinds."""

    @property
    def at(self) -> Duration:
        """When it is injected, counted from the start of the load."""

    @property
    def lasts(self) -> Duration:
        """How long until it is healed."""

    @property
    def aim(self) -> str:
        """What it should hit, for people; what it did hit is known when it is injected."""

    @property
    def roles(self) -> Sequence[str]:
        """The roles that it is aimed at; who holds them is asked shortly before it comes."""

    def problems(
        self, hosts: Sequence[str], links: Links, components: dict[str, Any]
    ) -> list[Problem]:
        """What is wrong with it; keys relative to the fault."""

    def emulated(self, links: Links, components: dict[str, Any]) -> Sequence[str]:
        """The names of the links that it must be able to cut or change."""

    def changes_of(self, links: Links) -> LinkChange | None:
        """The values that it gives to links; None if it gives none. The planner works out what
        becomes of each link.
        """

    def possible_outside(self, ours: Collection[str]) -> bool:
        """Whether it can happen without an emulated network, where `ours` are the components that
        we run.
        """

    def lacks(self, machine: Machine) -> str:
        """Why this machine cannot do it; empty if it can."""

    def inject(self, world: World) -> Injury:
        """Do it now; WorldError if that cannot be."""
