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
    """New values of some links, for packets that leave `source`; both directions if it is empty."""

    links: tuple[str, ...]
    source: str
    way: Way


class NeedsNothing:
    """Defaults for faults that name no role, touch no link and work on every machine."""

    def changes_of(self, links: Links) -> LinkChange | None:
        """No link gets other values."""
        return None

    def possible_outside(self, ours: Collection[str]) -> bool:
        """False: most faults need the emulated network."""
        return False

    @property
    def roles(self) -> Sequence[str]:
        """Targets that are roles: none."""
        return ()

    def emulated(self, links: Links, components: dict[str, Any]) -> Sequence[str]:
        """Links that the fault must be able to change: none."""
        return ()

    def lacks(self, machine: Machine) -> str:
        """Every machine can do it."""
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
        """The declared target, as shown to people; the injection says what was hit."""

    @property
    def roles(self) -> Sequence[str]:
        """The roles among its targets. Who holds them is looked up shortly before the injection."""

    def problems(
        self, hosts: Sequence[str], links: Links, components: dict[str, Any]
    ) -> list[Problem]:
        """What is wrong with the declaration; keys are relative to the fault."""

    def emulated(self, links: Links, components: dict[str, Any]) -> Sequence[str]:
        """The names of the links that it may cut or change."""

    def changes_of(self, links: Links) -> LinkChange | None:
        """The values that it gives to links, from which the planner derives each link's new shape.

        None if it gives no values.
        """

    def possible_outside(self, ours: Collection[str]) -> bool:
        """Whether it works without an emulated network; `ours` are the components that we run."""

    def lacks(self, machine: Machine) -> str:
        """Why this machine cannot do it; empty if it can."""

    def inject(self, world: World) -> Injury:
        """Do it now; WorldError if it is impossible."""
