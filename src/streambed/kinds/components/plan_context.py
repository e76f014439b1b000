"""What a component may know when it plans its processes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from streambed.artifacts import Java
from streambed.errors import UsageError
from streambed.kinds.components.broker import Broker
from streambed.plan import Machine, PlannedFile
from streambed.record import HANDED_IN, codec, file_name, orders
from streambed.stores.store import Address


@dataclass(frozen=True, kw_only=True)
class PlanContext:
    """What the planner gives a component: addresses, folders and the machine."""

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
    brokers: Mapping[str, Broker]
    """Every broker by name."""
    resolve: Callable[[str, str], str]
    """`resolve(text, component)` replaces references such as {kafka.bootstrap} and
    {self.checkpoint}.
    """
    outside: str = ""
    """The address of this machine, if the run is outside any box."""
    transactional_topics: frozenset[str] = frozenset()
    """Topics that may hold records of transactions that were aborted or are open."""
    stores: Mapping[str, Address] = field(default_factory=dict)
    """Where clients find each store."""
    kept_topics: frozenset[str] = frozenset()
    """Topics whose keys and values the witness keeps."""

    def data(self, component: str) -> Path:
        """Where a component keeps what must last as long as the run."""
        return self.directory / "data" / component

    def order(self, process: str, order: object) -> PlannedFile:
        """The file that holds the order to an agent (see record/orders.py); its command line names
        the path.
        """
        path = self.directory / orders.FOLDER / f"{file_name(process)}.json"
        return PlannedFile(path=str(path), text=codec.encode(order).decode())

    def agent(self, module: str, order: PlannedFile, hosts: Sequence[str]) -> tuple[str, ...]:
        """The command of an agent; one of several hosts enters their networks first."""
        words: tuple[str, ...] = ("-m", module)
        if len(hosts) > 1:
            # -P: what other programs left in its folder is not imported.
            words = ("-P", "-m", "streambed.agents.host_network", module)
        return (self.machine.python, *words, order.path)

    @property
    def java(self) -> Java:
        """The Java that was found on the machine."""
        return Java(
            path=Path(self.machine.java),
            version=self.machine.java_version,
            build=self.machine.java_build,
        )

    def broker_for(self, topics: Iterable[str]) -> Broker | None:
        """The broker that declares these topics; the first one for topics that none declares. None
        if there is no broker.
        """
        for topic in topics:
            for broker in self.brokers.values():
                if topic in broker.partitions:
                    return broker
        return next(iter(self.brokers.values()), None)

    def broker_of(self, topics: Iterable[str]) -> Broker:
        """The broker that declares these topics; UsageError if there is none."""
        broker = self.broker_for(topics)
        if broker is None:
            raise UsageError(f"no broker declares the topics {', '.join(topics)}")
        return broker

    def bootstrap_for(self, topics: Iterable[str] = ()) -> str:
        """The bootstrap address for clients of these topics; empty if there is no broker."""
        broker = self.broker_for(topics)
        return broker.bootstrap if broker else ""

    def variables(self, component: str, node: str, bootstrap: str) -> dict[str, str]:
        """The STREAMBED_* variables that every process gets."""
        return {
            "STREAMBED_RUN": str(self.directory),
            "STREAMBED_HAND_IN": str(self.directory / HANDED_IN),
            "STREAMBED_COMPONENT": component,
            "STREAMBED_NODE": node,
            "STREAMBED_BOOTSTRAP": bootstrap,
            "STREAMBED_SEED": str(self.seed),
        }


@dataclass(frozen=True, kw_only=True)
class Loopback:
    """How a server runs on this machine's loopback, outside any run: see `streambed up`."""

    host: ClassVar[str] = "localhost"
    address: ClassVar[str] = "127.0.0.1"
    ports: tuple[int, ...]
    """The ports to take instead of its usual ones, in the same order."""
    topics: Mapping[str, int] = field(default_factory=dict)
    """Topics to add, with their partitions; only brokers get some."""
    has_data: bool = False
    """Whether its folder holds data of an earlier start, so that `setup` has run."""


def reference_texts(key: str, words: Iterable[str], variables: Mapping[str, str]) -> dict[str, str]:
    """The arguments and variables of a program, which may hold references, by key."""
    listed = {f"{key}.{index}": word for index, word in enumerate(words)}
    return listed | {f"env.{name}": text for name, text in variables.items()}
