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
    sync_points: dict[str, int] = field(default_factory=dict)
    """The producers that wait at a commit until they are let go, and from when on."""


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


def sync_path(directory: Path, producer: str, point: str) -> Path:
    """The file that an agent writes at a sync point; it may continue when that is gone."""
    return directory / "gates" / f"{file_name(producer)}.{point}"


def has_arrived(directory: Path, producer: str, point: str) -> bool:
    """Whether an agent waits at a sync point."""
    return sync_path(directory, producer, point).exists()


def release(directory: Path, producer: str, point: str) -> None:
    """Let an agent continue that waits at a sync point."""
    sync_path(directory, producer, point).unlink(missing_ok=True)
