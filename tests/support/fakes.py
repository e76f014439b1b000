"""FakeWorld: a world without kernel or processes, which notes what was asked of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar

from streambed.errors import WorldError
from streambed.plan import ProcessSpec
from streambed.record import codec
from streambed.record.events import Event
from streambed.record.gauges import Gauge
from streambed.world import Lost

Order = TypeVar("Order")


class FakeClock:
    """Notes by how much it is wrong."""

    def __init__(self) -> None:
        self.ahead_ns, self.rate = 0, 0.0

    def skew(self, *, ahead_ns: int, rate: float) -> Callable[[], None]:
        self.ahead_ns, self.rate = ahead_ns, rate
        return self.__init__  # type: ignore[misc]

    def true_ns(self, shown_ns: int) -> int:
        return shown_ns - self.ahead_ns


class FakeSyncs:
    """Notes what was asked of it. Its files lose nothing."""

    def __init__(self) -> None:
        self.delay_ns, self.fails, self.power_failures = 0, False, 0
        self.files = self

    def slow(self, delay_ns: int) -> Callable[[], None]:
        self.delay_ns = delay_ns
        return lambda: setattr(self, "delay_ns", 0)

    def fail(self) -> Callable[[], None]:
        self.fails = True
        return lambda: setattr(self, "fails", False)

    def lose_unsynced(self, kept_of: Callable[[int], int]) -> Lost:
        self.power_failures += 1
        return Lost(removed_files=1, cut_files=2, bytes=100 - kept_of(100))


class FakeProcess:
    """Dies and starts as told."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.alive = True
        self.paused = False
        self.log = Path(f"{name}.log")
        self.node = name.partition("/")[2] or name
        self.share = 1.0
        self.lives = 1
        self.executors: list[FakeProcess] = []
        self.clock = FakeClock()
        self.syncs = FakeSyncs()
        self.may_end = False

    def last_lines(self) -> list[str]:
        return []

    def kill(self) -> Callable[[], None]:
        self.alive = False
        return lambda: setattr(self, "alive", True)

    def stop(self) -> Callable[[], None]:
        self.alive = False

        def heal() -> None:
            self.alive = True
            self.lives += 1

        return heal

    def slow(self, share: float) -> tuple[Callable[[], None], str]:
        self.share = share
        return lambda: setattr(self, "share", 1.0), "by a fake"

    def children(self, words: Sequence[str]) -> list[FakeProcess]:
        return self.executors

    def kill_at_once(self) -> None:
        self.alive = False

    def tolerate_end(self) -> Callable[[], None]:
        self.may_end = True
        return lambda: setattr(self, "may_end", False)

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

    def jam(self, sources: tuple[str, ...]) -> Callable[[], None]:
        return self.degrade(sources, {"held": True})

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
        self.deaf: list[dict[str, list[str]]] = []
        self.full: list[str] = []
        self.gauges: dict[str, Gauge] = {}
        self.events: list[Event] = []
        self.kept: dict[str, Any] = {}
        self.components: dict[str, Any] = {}
        self.troubles: list[BaseException] = []
        self.plan = SimpleNamespace(outside=True, links=(), processes=(), samples_ns={}, seed=1)

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

    def deafen(self, deaf: dict[str, list[str]]) -> Callable[[], None]:
        self.deaf.append(deaf)
        return lambda: self.deaf.remove(deaf)

    def start_beside(self, process: str) -> FakeProcess:
        return self.find(f"{process}~2")

    def fill_disk(self, process: str) -> Callable[[], None]:
        self.full.append(process)
        return lambda: self.full.remove(process)

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
