"""What a fault is to the rest of streambed."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from streambed.errors import Problem
from streambed.kinds.declared_components import Components
from streambed.kinds.declaring import declared
from streambed.kinds.direction import Direction
from streambed.kinds.disks import Preparation
from streambed.kinds.faults.of_links import Links
from streambed.kinds.faults.when.timing import Timed, Timing
from streambed.plan import Machine
from streambed.units import Duration
from streambed.world import Injected, World


@dataclass(frozen=True, kw_only=True)
class LinkChange:
    """New values of some links, for packets that leave `source`; both directions if it is empty."""

    links: tuple[str, ...]
    source: str
    direction: Direction


@dataclass(frozen=True)
class Held:
    """Something that a fault holds in a state: a process that is dead, a link that is cut."""

    what: str
    """A process, or a link and the end that packets leave, as shown to people."""
    state: str
    alone: bool = True
    """Whether no other fault may hold it at the same time; else only one with the same state."""


class NeedsNothing:
    """Defaults for faults that name no role, touch no link and work on every machine."""

    at: Duration | None

    @property
    def timing(self) -> Timing:
        """Once, at `at`."""
        return Timing(at=self.at)

    def holds(self, links: Links, components: Components) -> Sequence[Held]:
        """It holds nothing that another fault may not hold at the same time."""
        return ()

    def changes_of(self, links: Links) -> LinkChange | None:
        """None: it changes no values of links."""
        return None

    def possible_outside(self, ours: Collection[str]) -> bool:
        """False: most faults need the emulated network."""
        return False

    @property
    def roles(self) -> Sequence[str]:
        """Empty: none of its targets is a role."""
        return ()

    def emulated(self, links: Links, components: Components) -> Sequence[str]:
        """Empty: it changes no links."""
        return ()

    def killed_components(self, components: Components) -> Collection[str]:
        """Empty: it kills no process."""
        return ()

    def slowed_components(self, components: Components) -> Collection[str]:
        """Empty: it limits no CPU time."""
        return ()

    def prepares(self, components: Components) -> Sequence[Preparation]:
        """Empty: it needs nothing of processes before they start."""
        return ()

    def lacks(self, machine: Machine) -> str:
        """Empty: it needs nothing that a machine may lack."""
        return ""


@declared
class Momentary(Timed, NeedsNothing):
    """Defaults for faults that are over at once."""

    @property
    def lasts(self) -> Duration:
        """Zero: there is nothing to heal."""
        return Duration(0)


@declared
class Lasting(Timed, NeedsNothing):
    """Defaults for faults that are healed after a while."""

    lasts: Duration
    """How long until it is healed."""


class Fault(Protocol):
    """Something that breaks on the timeline and is healed."""

    @property
    def kind(self) -> str:
        """Its key in the table of kinds."""

    @property
    def timing(self) -> Timing:
        """When it is injected."""

    @property
    def lasts(self) -> Duration:
        """How long until it is healed."""

    @property
    def aim(self) -> str:
        """The declared target, as shown to people; the injection says what was hit."""

    @property
    def roles(self) -> Sequence[str]:
        """The roles among its targets. Who holds them is looked up shortly before the injection."""

    def problems(self, hosts: Sequence[str], links: Links, components: Components) -> list[Problem]:
        """What is wrong with the declaration; keys are relative to the fault."""

    def emulated(self, links: Links, components: Components) -> Sequence[str]:
        """The names of the links that it may cut or change."""

    def changes_of(self, links: Links) -> LinkChange | None:
        """The values that it gives to links, from which the planner derives each link's new shape.

        None if it gives no values.
        """

    def killed_components(self, components: Components) -> Collection[str]:
        """The names of the components whose processes it may kill."""

    def slowed_components(self, components: Components) -> Collection[str]:
        """The names of the components whose processes need a control group for CPU time."""

    def holds(self, links: Links, components: Components) -> Sequence[Held]:
        """What it holds in a state, so that no other fault may while it lasts.

        Roles are left out: who holds them is not known before.
        """

    def possible_outside(self, ours: Collection[str]) -> bool:
        """Whether it works without an emulated network; `ours` are the components that we run."""

    def prepares(self, components: Components) -> Sequence[Preparation]:
        """What it needs of processes before they start."""

    def lacks(self, machine: Machine) -> str:
        """Why this machine cannot do it; empty if it can."""

    def inject(self, world: World) -> Injected:
        """Do it now; WorldError if it is impossible."""
