"""FakeWorld: a world without kernel or processes, which notes what was asked of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from streambed.errors import WorldError
from streambed.plan import ProcessSpec
from streambed.record import codec
from streambed.record.events import Event
from streambed.record.gauges import Gauge

Order = TypeVar("Order")


class FakeProcess:
    """Dies and starts as told."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.alive = True
        self.paused = False
        self.log = Path(f"{name}.log")

    def last_lines(self) -> list[str]:
        return []

    def strike(self) -> Callable[[], None]:
        self.alive = False
        return lambda: setattr(self, "alive", True)

    def pause(self) -> Callable[[], None]:
        self.paused = True
        return lambda: setattr(self, "paused", False)


class FakeWire:
    """Remembers which ends are cut, and which are changed and how."""

    def __init__(self, ends: tuple[str, str]) -> None:
        self.ends = ends
        self.cut_off: set[str] = set()
        self.changes: dict[str, dict[str, float]] = {}

    def cut(self, sources: tuple[str, ...]) -> None:
        self.cut_off |= set(sources)

    def mend(self, sources: tuple[str, ...]) -> None:
        self.cut_off -= set(sources)

    def degrade(self, sources: tuple[str, ...], changes: dict[str, float]) -> Callable[[], None]:
        self.changes |= dict.fromkeys(sources, changes)
        return self.changes.clear


class FakeWorld:
    """Processes and wires appear when they are first asked for."""

    def __init__(self, directory: Path = Path("nowhere")) -> None:
        self.directory = directory
        self.processes: dict[str, FakeProcess] = {}
        self.wires: dict[frozenset[str], FakeWire] = {}
        self.roles: dict[str, str] = {}
        self.separated: list[Sequence[Sequence[str]]] = []
        self.gauges: dict[str, Gauge] = {}
        self.events: list[Event] = []
        self.kept: dict[str, Any] = {}

    def find(self, target: str) -> FakeProcess:
        return self.processes.setdefault(target, FakeProcess(target))

    def wire(self, ends: tuple[str, str]) -> FakeWire:
        return self.wires.setdefault(frozenset(ends), FakeWire(ends))

    def wires_named(self, link: tuple[str, ...]) -> list[FakeWire]:
        return [self.wire((link[0], link[-1]))]

    def wires_of(self, node: str) -> list[FakeWire]:
        return [wire for ends, wire in self.wires.items() if node in ends]

    def holder(self, role: str) -> str:
        if role not in self.roles:
            raise WorldError(f"nobody is {role} at this moment")
        return self.roles[role]

    def separate(self, sides: Sequence[Sequence[str]]) -> Callable[[], None]:
        self.separated.append(sides)
        return lambda: self.separated.remove(sides)

    def call(self, node: str, function: Callable[[], Any]) -> Any:
        return function()

    def gauge(self, process: str) -> Gauge | None:
        return self.gauges.get(process)

    def keep(self, key: str, make: Callable[[], Any]) -> Any:
        return self.kept.setdefault(key, make()) if key not in self.kept else self.kept[key]

    def record(self, event: Event) -> None:
        self.events.append(event)

    def links_changed(self) -> None:
        """Nobody wants to know."""

    def watch(self) -> None:
        """Everybody lives."""

    def wait(self, done: Callable[[], bool], *, limit_s: float, step_s: float = 0.0) -> bool:
        """Time flies here: the condition is asked once."""
        return done()

    def rest_until(self, time_ns: int) -> None:
        """Time flies here."""


def order_of(spec: ProcessSpec, kind: type[Order]) -> Order:
    """The order of an agent, which its command names and its files hold."""
    (text,) = [file.text for file in spec.files if file.path == spec.argv[-1]]
    return codec.decode(kind, text)
