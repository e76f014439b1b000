"""Gates: files that appear when agents may continue. The conductor opens them, agents wait."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from streambed.record import codec, file_name


@dataclass(frozen=True, kw_only=True)
class ServersReady:
    """All servers answer."""


@dataclass(frozen=True, kw_only=True)
class LoadBegins:
    """The load begins at `start_ns`."""

    start_ns: int
    report_ns: int = 0
    """How often agents write their gauges, if a fault waits for a count; 0: as usual."""
    sync_points: dict[str, tuple[int, ...]] = field(default_factory=dict)
    """The producers that wait at a commit until they are let go: once from each of these times."""


Gate = ServersReady | LoadBegins
NAMES: dict[type, str] = {ServersReady: "servers", LoadBegins: "load"}


def path_of(directory: Path, gate: type) -> Path:
    """The file that appears when a gate opens."""
    return directory / "gates" / NAMES[gate]


def open_gate(directory: Path, gate: Gate) -> None:
    """Let all agents pass that wait at a gate."""
    codec.write_message(path_of(directory, type(gate)), gate)


COMMITTING = "committing"
"""The sync point of a producer that is about to commit a transaction."""
SYNC_LIMIT_S = 5.0
"""How long an agent waits at a sync point at most."""
ARRIVED, CLAIMED, DONE = "arrived", "claimed", "done"
"""The states of a stop at a sync point, each a suffix of its file: the agent waits, a fault is
being injected, the agent may continue.
"""


@dataclass(frozen=True)
class Stop:
    """The stop of a producer at a sync point for one fault, the `number`th that wants it to."""

    directory: Path
    producer: str
    point: str
    number: int

    def file(self, state: str) -> Path:
        """The file that shows a state."""
        name = f"{file_name(self.producer)}.{self.point}.{self.number}.{state}"
        return self.directory / "gates" / name

    @property
    def used(self) -> bool:
        """Whether a producer stopped here, perhaps in an earlier life."""
        return any(self.file(state).exists() for state in (ARRIVED, CLAIMED, DONE))

    @property
    def done(self) -> bool:
        """Whether the producer may continue."""
        return self.file(DONE).exists()

    def arrive(self) -> None:
        """Report that the producer waits."""
        self.file(ARRIVED).touch()

    def withdraw(self) -> None:
        """Report that it no longer waits. A fault that claimed the stop is still injected."""
        self.move(ARRIVED, DONE)

    def move(self, state: str, following: str) -> bool:
        """Go from one state to another; False if another process was faster."""
        try:
            self.file(state).rename(self.file(following))
        except FileNotFoundError:
            return False
        return True


def claim(directory: Path, producer: str, point: str) -> bool:
    """Take a stop at which a producer waits, for one fault; False if there is none."""
    stops = _stops(directory, producer, point, ARRIVED)
    return any(stop.move(ARRIVED, CLAIMED) for stop in stops)


def release(directory: Path, producer: str, point: str) -> None:
    """Let a producer continue whose stop was claimed: it waits at one at a time."""
    for stop in _stops(directory, producer, point, CLAIMED):
        stop.move(CLAIMED, DONE)


def _stops(directory: Path, producer: str, point: str, state: str) -> list[Stop]:
    prefix, suffix = f"{file_name(producer)}.{point}.", f".{state}"
    names = [path.name for path in (directory / "gates").iterdir()]
    numbers = [
        name.removeprefix(prefix).removesuffix(suffix)
        for name in names
        if name.startswith(prefix) and name.endswith(suffix)
    ]
    return [Stop(directory, producer, point, int(number)) for number in numbers]
