"""What a component, fault or probe may ask of a running world. The live one is in runner, the small one in tests/fakes.py."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, TypeVar

from streambed.plan import Plan

Answer = TypeVar("Answer")
Heal = Callable[[], None]
"""How to undo a fault."""
Missing = Callable[[], str]
"""What is still missing until a component is ready; empty when nothing is."""


class Process(Protocol):
    """A program running on a host."""

    @property
    def name(self) -> str:
        """Its name in the plan."""

    @property
    def alive(self) -> bool:
        """Whether it runs now."""

    def start(self) -> None:
        """Start it, or start it again."""

    def kill(self) -> None:
        """End it and its children without a word."""


class Wire(Protocol):
    """A link made real."""

    def cut(self, sources: tuple[str, ...]) -> None:
        """Drop every packet that leaves one of these two ends."""

    def mend(self, sources: tuple[str, ...]) -> None:
        """Carry packets from these ends again, shaped as declared."""


class World(Protocol):
    """A plan made real."""

    @property
    def plan(self) -> Plan:
        """What this world was made from."""

    @property
    def directory(self) -> Path:
        """The run's folder."""

    def find(self, target: str) -> Process:
        """The process called so, or the only process of the component called so."""

    def wire(self, ends: tuple[str, str]) -> Wire:
        """The wire between two nodes."""

    def call(self, node: str, function: Callable[[], Answer]) -> Answer:
        """Call `function` inside the host of `node`: sockets that it opens and threads that it starts live there."""

    def gauge(self, component: str) -> dict[str, Any]:
        """The newest gauge that an agent wrote; empty before the first."""

    def keep(self, key: str, make: Callable[[], Answer]) -> Answer:
        """What `make` made when first asked for `key`; kept as long as the world."""

    def record(self, event: str, **fields: object) -> None:
        """Add an event to the history."""
