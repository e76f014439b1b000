"""What a fault is to the rest of streambed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from streambed.errors import Problem
from streambed.units import Duration
from streambed.world import Heal, World


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
        """What it hits, for people."""

    @property
    def links(self) -> tuple[tuple[str, str], ...]:
        """The links that it needs to be able to cut."""

    def problems(self, nodes: Iterable[str], links: Iterable[tuple[str, str]], components: dict[str, Any]) -> list[Problem]:
        """What is wrong with it; keys relative to the fault."""

    def inject(self, world: World) -> Heal:
        """Do it now; returns how to heal it."""
