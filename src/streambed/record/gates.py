"""Gates: files that appear when agents may continue. The conductor opens them, agents wait."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from streambed.record import codec


@dataclass(frozen=True, kw_only=True)
class ServersReady:
    """All servers answer."""


@dataclass(frozen=True, kw_only=True)
class LoadBegins:
    """The load begins at `start_ns`."""

    start_ns: int


Gate = ServersReady | LoadBegins
NAMES: dict[type, str] = {ServersReady: "servers", LoadBegins: "load"}


def path_of(directory: Path, gate: type) -> Path:
    """The file that appears when a gate opens."""
    return directory / "gates" / NAMES[gate]


def open_gate(directory: Path, gate: Gate) -> None:
    """Let all agents pass that wait at a gate."""
    codec.write_message(path_of(directory, type(gate)), gate)
