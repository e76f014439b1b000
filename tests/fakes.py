"""FakeWorld: a world without kernel or processes, which notes what was asked of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any


class FakeProcess:
    """Dies and starts as told."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.alive = True

    def start(self) -> None:
        self.alive = True

    def kill(self) -> None:
        self.alive = False


class FakeWire:
    """Remembers which ends are cut."""

    def __init__(self) -> None:
        self.cut_off: set[str] = set()

    def cut(self, sources: tuple[str, ...]) -> None:
        self.cut_off |= set(sources)

    def mend(self, sources: tuple[str, ...]) -> None:
        self.cut_off -= set(sources)


class FakeWorld:
    """Processes and wires appear when they are first asked for."""

    def __init__(self, directory: Path = Path("nowhere")) -> None:
        self.directory = directory
        self.processes: dict[str, FakeProcess] = {}
        self.wires: dict[frozenset[str], FakeWire] = {}
        self.gauges: dict[str, dict[str, Any]] = {}
        self.events: list[tuple[str, dict[str, Any]]] = []
        self.kept: dict[str, Any] = {}

    def find(self, target: str) -> FakeProcess:
        return self.processes.setdefault(target, FakeProcess(target))

    def wire(self, ends: tuple[str, str]) -> FakeWire:
        return self.wires.setdefault(frozenset(ends), FakeWire())

    def call(self, node: str, function: Callable[[], Any]) -> Any:
        return function()

    def gauge(self, component: str) -> dict[str, Any]:
        return self.gauges.get(component, {})

    def keep(self, key: str, make: Callable[[], Any]) -> Any:
        return self.kept.setdefault(key, make()) if key not in self.kept else self.kept[key]

    def record(self, event: str, **fields: Any) -> None:
        self.events.append((event, fields))

    def watch(self) -> None:
        """Everybody lives."""

    def wait(self, done: Callable[[], bool], *, limit_s: float, step_s: float = 0.0) -> bool:
        """Time flies here: the condition is asked once."""
        return done()
