"""What a component or fault may ask of a running world. The live one is in runner, the small one in
tests/support/fakes.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from streambed.plan import Plan
from streambed.record.events import Event
from streambed.record.gauges import Gauge

if TYPE_CHECKING:  # A world is below the kinds.
    from streambed.kinds.declared_components import Components

Result = TypeVar("Result")
Heal = Callable[[], None]
"""How to undo a fault."""
Missing = Callable[[], str]
"""What is still missing until a component is ready; empty when nothing is."""


@dataclass(frozen=True, kw_only=True)
class Injected:
    """What a fault did: to whom, by name, and how to heal it."""

    target: str
    heal: Heal
    nodes: tuple[str, ...] = ()
    """The nodes that were cut off or separated."""
    processes: tuple[str, ...] = ()
    """The processes that were hit."""
    links: tuple[tuple[str, str], ...] = ()
    """The ends of the links that were hit."""
    pairs: tuple[tuple[str, str], ...] = ()
    """Sender and receiver of packets that no longer arrive, between hosts that share no link."""
    how: str = ""
    """The mechanism that was used, if there are several."""


class Clock(Protocol):
    """The wall clock that a process and its children see."""

    def skew(self, *, ahead_ns: int, rate: float) -> Heal:
        """Set it ahead, or back, and let it gain `rate` seconds per second, until healed."""

    def true_ns(self, shown_ns: int) -> int:
        """The true wall clock when the process saw this one."""


@dataclass(frozen=True, kw_only=True)
class Lost:
    """What a power failure cost."""

    removed_files: int
    cut_files: int
    bytes: int


class SyncedFiles(Protocol):
    """The files of a process, and how much of each it has synced."""

    def lose_unsynced(self, kept_of: Callable[[int], int]) -> Lost:
        """Remove files that were never synced, and cut others to what was; `kept_of` says how many
        bytes of an unsynced tail stay. The process must be dead.
        """


class Syncs(Protocol):
    """The syncs of a process: fsync, fdatasync, msync and sync_file_range."""

    @property
    def files(self) -> SyncedFiles:
        """The files that it syncs, and how much of each it has synced."""

    def slow(self, delay_ns: int) -> Heal:
        """Delay each until healed."""

    def fail(self) -> Heal:
        """Let each fail with EIO until healed."""


class Process(Protocol):
    """A program running on a host."""

    @property
    def name(self) -> str:
        """Its name in the plan."""

    @property
    def node(self) -> str:
        """The host that it runs on."""

    @property
    def alive(self) -> bool:
        """Whether it runs now."""

    @property
    def log(self) -> Path:
        """The file with everything that it printed."""

    def last_lines(self) -> list[str]:
        """The last lines that it printed, for people."""

    @property
    def paused(self) -> bool:
        """Whether a fault has stopped it."""

    def children(self, words: Sequence[str]) -> Sequence[Process]:
        """The programs that it started, at any depth, whose command lines hold all of these
        words.
        """

    @property
    def clock(self) -> Clock:
        """The wall clock that it sees, in this life and later ones."""

    @property
    def syncs(self) -> Syncs:
        """Its syncs; WorldError if no declared fault asked the planner for them."""

    def kill(self) -> Heal:
        """Kill it and its children; healing starts it again, unless another fault still holds it
        dead.
        """

    def stop(self) -> Heal:
        """Ask it to end with SIGTERM; healing starts it again when it has ended."""

    def slow(self, share: float) -> tuple[Heal, str]:
        """Limit it to a share of the machine's CPU time until healed. Returns the mechanism that
        was used.
        """

    def kill_at_once(self) -> None:
        """Kill it and its children without waiting for their end; `kill` must follow."""

    def tolerate_end(self) -> Heal:
        """Let it end without ending the run; healing starts it again if it has ended."""

    def pause(self) -> Heal:
        """Stop it and its children without ending them; healing resumes them, if no other fault
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

    def jam(self, sources: tuple[str, ...]) -> Heal:
        """Hold every packet that leaves one of these two ends; healing delivers them."""

    def degrade(self, sources: tuple[str, ...], changes: dict[str, Any]) -> Heal:
        """Give packets from these ends another shape in some of its fields (see plan.Shape) until
        healed.
        """


class World(Protocol):
    """A plan made real."""

    @property
    def plan(self) -> Plan:
        """The plan that this world was made from."""

    @property
    def directory(self) -> Path:
        """The run's folder."""

    @property
    def components(self) -> Components:
        """The declared components, by name."""

    def find(self, target: str) -> Process:
        """The process of this name, or the only process of the component of this name."""

    def start_beside(self, process: str) -> Process:
        """Start a second incarnation of a process beside the first: NAME~2, with the same files."""

    def links_changed(self) -> None:
        """Say that links were cut or mended, so that routes may change."""

    def holder(self, role: str) -> str:
        """The process that holds a role now, such as "leader of lines/0"; WorldError if no process
        holds it.

        The answer is cached for a moment, so that a fault can look it up just before its time.
        """

    def wires_named(self, link: tuple[str, ...]) -> Sequence[Wire]:
        """Every wire between two nodes, or the one of that name."""

    def wires_of(self, node: str) -> Sequence[Wire]:
        """Every wire that ends at a node."""

    def deafen(self, deaf: Mapping[str, Sequence[str]]) -> Heal:
        """Let each of these hosts receive nothing from the hosts beside it until healed."""

    def fill_disk(self, process: str) -> Heal:
        """Fill the disk of a process until healed; WorldError if no declared fault
        asked the planner for such a disk.
        """

    def call(self, node: str, function: Callable[[], Result]) -> Result:
        """Call `function` inside the host of `node`: sockets that it opens and threads that it
        starts live there.
        """

    def gauge(self, process: str) -> Gauge | None:
        """The newest gauge that an agent wrote; None before the first."""

    def keep(self, key: str, make: Callable[[], Result]) -> Result:
        """The cached result of `make` for `key`; the cache lives as long as the world."""

    def record(self, event: Event) -> None:
        """Add an event to the history, with the current time."""
