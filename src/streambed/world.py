"""What a component or fault may ask of a running world. The live one is in runner, the small one in
tests/support/fakes.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

from streambed.plan import Plan
from streambed.record.events import Event
from streambed.record.gauges import Gauge

Answer = TypeVar("Answer")
Heal = Callable[[], None]
"""How to undo a fault."""
Missing = Callable[[], str]
"""What is still missing until a component is ready; empty when nothing is."""


@dataclass(frozen=True, kw_only=True)
class Injury:
    """What a fault did: to whom, by name, and how to heal it."""

    target: str
    heal: Heal


class Process(Protocol):
    """A program running on a host."""

    @property
    def name(self) -> str:
        """Its name in the plan."""

    @property
    def alive(self) -> bool:
        """Whether it runs now."""

    @property
    def log(self) -> Path:
        """Where all that it printed is kept."""

    def last_lines(self) -> list[str]:
        """The end of what it printed, for people."""

    @property
    def paused(self) -> bool:
        """Whether a fault has stopped it."""

    def strike(self) -> Heal:
        """Kill it and its children without a word; healing starts it again, if nobody else wants it
        dead.
        """

    def pause(self) -> Heal:
        """Stop it and its children without ending them; healing lets them go on, if nobody else
        wants them stopped.
        """


class Wire(Protocol):
    """A link made real."""

    @property
    def ends(self) -> tuple[str, str]:
        """The two nodes."""

    def cut(self, sources: tuple[str, ...]) -> None:
        """Drop every packet that leaves one of these two ends."""

    def mend(self, sources: tuple[str, ...]) -> None:
        """Carry packets from these ends again, shaped as declared."""

    def degrade(self, sources: tuple[str, ...], changes: dict[str, Any]) -> Heal:
        """Give packets from these ends another shape in some of its fields (see plan.Shape) until
        healed.
        """


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

    def holder(self, role: str) -> str:
        """The process that holds a role at this moment, such as "leader of lines/0"; WorldError if
        nobody does.

        The answer holds for a moment, so that a fault can ask just before its time.
        """

    def wires_named(self, link: tuple[str, ...]) -> Sequence[Wire]:
        """Every wire between two nodes, or the one of that name."""

    def wires_of(self, node: str) -> Sequence[Wire]:
        """Every wire that ends at a node."""

    def separate(self, sides: Sequence[Sequence[str]]) -> Heal:
        """Let no packet pass between hosts of different sides until healed; hosts on no side reach
        everybody.
        """

    def call(self, node: str, function: Callable[[], Answer]) -> Answer:
        """Call `function` inside the host of `node`: sockets that it opens and threads that it
        starts live there.
        """

    def gauge(self, process: str) -> Gauge | None:
        """The newest gauge that an agent wrote; None before the first."""

    def keep(self, key: str, make: Callable[[], Answer]) -> Answer:
        """What `make` made when first asked for `key`; kept as long as the world."""

    def record(self, event: Event) -> None:
        """Add an event to the history, with the present time."""
