"""A LiveWorld without namespaces: its hosts are this machine, its processes are small programs."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from streambed.kinds.components.component import Component, ComponentBase
from streambed.kinds.components.progress import Progress
from streambed.kinds.declared_parts import DeclaredParts
from streambed.net.ports import METRICS
from streambed.plan import Machine, Plan, PlannedNode, ProcessSpec
from streambed.record import EVENTS, FOLDERS
from streambed.record.event_log import EventLog, read_events
from streambed.record.events import Event, Phase, ProcessStarted, Wait
from streambed.record.gauges import DelayLineGauge
from streambed.runner.live_world import LiveWorld
from streambed.world import Missing, World

SLEEP = ("sleep", "60")
SECOND_NS = 1_000_000_000


class FakeHost:
    """Calls run here and now."""

    namespace = 0

    def call(self, function: Callable[[], Any]) -> Any:
        return function()

    def start(self, function: Callable[[], Any], *, enters_networks: bool) -> Any:
        return function()


class FakeNetwork:
    """A network with two ports and, if a test gives one, a delay line."""

    def __init__(self, nodes: Sequence[str]) -> None:
        self.hosts = {node: FakeHost() for node in nodes}
        self.wires: dict[str, Any] = {}
        self.delay_line: Any = None
        self.gauges: tuple[DelayLineGauge, ...] = ()
        self.ports = SimpleNamespace(names=("left:eth0", "right:eth0"), read=self.read)

    def read(self) -> list[float]:
        return [float(number) for number in range(2 * len(METRICS))]

    def delay_line_gauges(self) -> tuple[DelayLineGauge, ...]:
        return self.gauges


class Part(ComponentBase):
    """A component that is ready when `missing` says so, and otherwise as a test decides."""

    kind = "part"

    def __init__(
        self,
        name: str,
        *,
        server: bool = False,
        missing: Missing = lambda: "",
        waits: tuple[Wait, ...] = (),
        final: str = "",
    ) -> None:
        self.name = name
        self._server = server
        self._missing = missing
        self._waits = waits
        self._final = final

    @property
    def server(self) -> bool:
        return self._server

    def readiness(self, world: World) -> Missing:
        return self._missing

    def progress(self, world: World) -> Progress:
        return Progress(waits=self._waits)

    def final_problem(self, world: World) -> str:
        return self._final


def program(name: str, *argv: str, **fields: Any) -> ProcessSpec:
    """A process on the host `left`; it sleeps if no command is given."""
    component = fields.pop("component", name)
    node = fields.pop("node", "left")
    return ProcessSpec(name=name, component=component, node=node, argv=argv or SLEEP, **fields)


def shell(name: str, script: str, **fields: Any) -> ProcessSpec:
    """A process that runs a shell script."""
    return program(name, "sh", "-c", script, **fields)


def small_plan(directory: Path, *processes: ProcessSpec, **fields: Any) -> Plan:
    """A plan of two hosts whose load takes a moment."""
    nodes = [
        PlannedNode(name=name, switch=False, address="", routes=()) for name in ("left", "right")
    ]
    given = {
        "name": "small",
        "seed": 1,
        "duration_ns": 5_000_000,
        "ready_limit_ns": 10 * SECOND_NS,
        "drain_limit_ns": 10 * SECOND_NS,
        "machine": Machine(),
        "nodes": tuple(nodes),
        "links": (),
        "declaration": {"topology": {}, "components": {}, "faults": []},
        **fields,
    }
    return Plan(directory=str(directory), processes=processes, **given)


@contextlib.contextmanager
def bare_world(
    directory: Path,
    *processes: ProcessSpec,
    components: Sequence[Component] = (),
    **fields: Any,
) -> Iterator[LiveWorld]:
    """A world whose processes are killed after the block."""
    for name in FOLDERS:
        (directory / name).mkdir(parents=True, exist_ok=True)
    plan = small_plan(directory, *processes, **fields)
    parts = DeclaredParts(
        components={component.name: component for component in components}, faults=()
    )
    events = EventLog(directory / "history" / EVENTS)
    network: Any = FakeNetwork([node.name for node in plan.nodes])
    world = LiveWorld(plan, parts, network, events, [])
    try:
        yield world
    finally:
        world.end()
        events.close()


def events_of(world: LiveWorld) -> tuple[Event, ...]:
    """What was recorded, in order."""
    return read_events(world.directory)


def of_kind(world: LiveWorld, kind: type) -> list[Any]:
    """The recorded events of one kind."""
    return [event for event in events_of(world) if isinstance(event, kind)]


def course(world: LiveWorld) -> list[str]:
    """The phases and the processes that were started, in order."""
    words = []
    for event in events_of(world):
        if isinstance(event, Phase):
            words.append(event.phase)
        elif isinstance(event, ProcessStarted):
            words.append(f"+{event.process}")
    return words


def wait_for(condition: Callable[[], bool]) -> None:
    """Wait for something that comes in a moment."""
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.001)
