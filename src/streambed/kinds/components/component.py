"""What a component is to the rest of streambed, and what it may know when it plans its processes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from streambed.artifacts import Java
from streambed.errors import Problem, suggestion
from streambed.kinds.components.limits import Limits
from streambed.plan import Machine, PlannedFile, ProcessSpec
from streambed.record import codec, file_name, orders
from streambed.stores.store import Address
from streambed.world import Missing, World


@dataclass(frozen=True, kw_only=True)
class Site:
    """What the planner tells a component about the place where it will run."""

    machine: Machine
    directory: Path
    """The run's folder."""
    base: Path
    """The folder of the declaration: relative paths start here."""
    seed: int
    duration_ns: int
    addresses: Mapping[str, str]
    """Every node's address."""
    numbers: Mapping[str, int]
    """Every component's number, from 0 on: what must differ between components is made from it."""
    topics: Mapping[str, str]
    """Which Kafka component declares each topic."""
    bootstraps: Mapping[str, str]
    """Bootstrap servers of each Kafka component."""
    resolve: Callable[[str, str], str]
    """`resolve(text, component)` replaces references such as {kafka.bootstrap} and {self.checkpoint}."""
    outside: str = ""
    """The address of this machine, if the run is outside any box."""
    stores: Mapping[str, Address] = field(default_factory=dict)
    """Where clients find each store."""

    def data(self, component: str) -> Path:
        """Where a component keeps what must last as long as the run."""
        return self.directory / "data" / component

    def order(self, process: str, order: object) -> PlannedFile:
        """The file that holds the order to an agent (see record/orders.py); its command line names the path."""
        path = self.directory / orders.FOLDER / f"{file_name(process)}.json"
        return PlannedFile(path=str(path), text=codec.encode(order).decode())

    @property
    def java(self) -> Java:
        """The Java that was found on the machine."""
        return Java(path=Path(self.machine.java), version=self.machine.java_version, build=self.machine.java_build)

    def bootstrap_for(self, topics: Iterable[str] = ()) -> str:
        """The bootstrap servers for a set of topics; empty if there is no Kafka at all."""
        owner = next((self.topics[topic] for topic in topics if topic in self.topics), next(iter(self.bootstraps), ""))
        return self.bootstraps.get(owner, "")

    def variables(self, component: str, node: str, bootstrap: str) -> dict[str, str]:
        """The STREAMBED_* variables that every process gets."""
        return {
            "STREAMBED_RUN": str(self.directory),
            "STREAMBED_COMPONENT": component,
            "STREAMBED_NODE": node,
            "STREAMBED_BOOTSTRAP": bootstrap,
            "STREAMBED_SEED": str(self.seed),
        }


class Component(Protocol):
    """Something that runs: it plans its processes, and says when it is ready."""

    @property
    def name(self) -> str:
        """The name that the user gave."""

    @property
    def kind(self) -> str:
        """Its key in the table of kinds."""

    @property
    def places(self) -> dict[str, str]:
        """The key that names each node it runs on, such as {"node": "edge"} or {"nodes.0": "broker1"}."""

    @property
    def server(self) -> bool:
        """Whether others wait until it is ready."""

    @property
    def needs(self) -> tuple[str, ...]:
        """The artifacts that must have been fetched."""

    @property
    def limits(self) -> Limits | None:
        """What its processes may use of the machine."""

    @property
    def ports(self) -> tuple[int, ...]:
        """The ports that it takes on each of its hosts, as far as they are known."""

    def problems(self, others: Mapping[str, Any], base: Path) -> list[Problem]:
        """What is wrong with it beside the others; keys relative to the component."""

    def answers(self) -> dict[str, str]:
        """What references such as {kafka.bootstrap} to it become."""

    def processes(self, site: Site) -> list[ProcessSpec]:
        """Decide its processes; touches nothing."""

    def readiness(self, world: World) -> Missing:
        """Begin to wait for it: the answer says what is still missing."""


class OnOneNode:
    """What components with one process answer alike: it runs on `node`, nobody waits for it, it needs nothing fetched."""

    node: str

    @property
    def places(self) -> dict[str, str]:
        """The key that names its node."""
        return {"node": self.node}

    @property
    def server(self) -> bool:
        """Nobody waits for it."""
        return False

    @property
    def needs(self) -> tuple[str, ...]:
        """Nothing."""
        return ()

    @property
    def ports(self) -> tuple[int, ...]:
        """None that are known."""
        return ()

    def answers(self) -> dict[str, str]:
        """Nothing refers to it."""
        return {}


def unknown_topics(topics: Iterable[str], others: Mapping[str, Any], key: str) -> list[Problem]:
    """A problem for each topic that no Kafka component declares."""
    known = [topic for other in others.values() if other.kind == "kafka" for topic in other.topics]
    return [
        Problem(key=key, says=f"no kafka component declares the topic '{topic}'. {suggestion(topic, known)}")
        for topic in topics
        if topic not in known
    ]


def missing_file(path: str, base: Path, key: str) -> list[Problem]:
    """A problem if a file that the declaration names is not there."""
    asked = base / path
    if asked.is_file():
        return []
    beside = [found.name for found in asked.parent.glob("*")] if asked.parent.is_dir() else []
    return [Problem(key=key, says=f"there is no file '{path}' beside the declaration. {suggestion(asked.name, beside)}")]


def missing_folder(path: str, base: Path, key: str) -> list[Problem]:
    """A problem if a folder that the declaration names is not there."""
    asked = base / path
    if asked.is_dir():
        return []
    beside = [found.name for found in asked.parent.glob("*") if found.is_dir()] if asked.parent.is_dir() else []
    return [Problem(key=key, says=f"there is no folder '{path}' beside the declaration. {suggestion(asked.name, beside)}")]


def when_gauge_is_ready(world: World, component: str) -> Missing:
    """Ready when the agent says so in its gauge."""
    return lambda: "" if gauge_is_ready(world, component) else "its agent has not reported yet"


def gauge_is_ready(world: World, process: str) -> bool:
    """Whether an agent says that it is ready."""
    gauge = world.gauge(process)
    return gauge is not None and gauge.ready
