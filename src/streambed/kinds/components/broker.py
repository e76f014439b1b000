"""What the rest of streambed asks of a broker: a component whose topics clients write and read.

A kind that is a broker returns itself as `as_broker`. Nothing outside the kinds knows which brokers
exist.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from streambed.errors import UNKNOWN_TOPIC, Problem, suggestion
from streambed.kinds.declared_components import Components
from streambed.kinds.declaring import Setting
from streambed.plan import ProcessSpec
from streambed.record.events import Event
from streambed.world import World

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

    from streambed.kinds.components.plan_context import PlanContext
    from streambed.kinds.components.roles import Role

Ends = Mapping[str, Mapping[int, int | None]]
"""The next offset of each topic and partition; None where it is unknown at the moment."""
FileTables = Mapping[str, "pa.Table"]
"""Tables by their name in BROKER_TABLES (record/ledger/schemas.py)."""


@dataclass(frozen=True, kw_only=True)
class Sample:
    """One measured value."""

    metric: str
    of: str
    value: float


@dataclass(frozen=True, kw_only=True)
class Watched:
    """What changed at a broker since the last poll, and what was measured."""

    events: tuple[Event, ...] = ()
    samples: tuple[Sample, ...] = ()


class Broker(Protocol):
    """A component with topics."""

    @property
    def name(self) -> str:
        """The name of the component."""

    @property
    def nodes(self) -> tuple[str, ...]:
        """The hosts of its servers."""

    @property
    def partitions(self) -> Mapping[str, int]:
        """Its topics, and the number of partitions of each; 0 if the broker has no partitions."""

    @property
    def bootstrap(self) -> str:
        """The address that clients connect to first."""

    @property
    def sender(self) -> str:
        """The `module:function` that makes a Sender (agents/sender.py) for the producer agent."""

    @property
    def reader(self) -> str:
        """The `module:function` that makes a Reader (agents/reader.py) for the consumer agent."""

    def client(self, settings: Mapping[str, Setting]) -> dict[str, str]:
        """The configuration of a sender or reader, with the settings of its component."""

    def client_problems(self, client: Any) -> list[Problem]:
        """What a producer, consumer or sink asks that it cannot do; keys relative to the client."""

    def end_positions(self, world: World) -> Ends | None:
        """Where its topics end now; None if it has no offsets. Unreadable topics are left out."""

    def role_holder(self, role: Role, world: World) -> str:
        """The process that holds a role now; WorldError if none does."""

    def watch(self, world: World) -> Watched:
        """Poll it once. Called every second during the load, in a thread for brokers only."""

    def read_back(
        self, context: PlanContext, topics: tuple[str, ...], name: str
    ) -> ProcessSpec | None:
        """The process `name`, which reads topics back after the drain; None if none are kept."""


@runtime_checkable
class LeavesFiles(Protocol):
    """A broker whose servers leave files that tell what they stored."""

    def file_tables(self, data: Path) -> FileTables:
        """Tables made from the files in its folder `data`, after its servers have ended."""


def file_tables(broker: Broker, data: Path) -> FileTables:
    """What the files of a broker hold; nothing if it leaves none."""
    return broker.file_tables(data) if isinstance(broker, LeavesFiles) else {}


@runtime_checkable
class Elects(Protocol):
    """A broker whose partitions can be given another leader on demand."""

    def elect(self, world: World, *, topic: str, partition: int, unclean: bool) -> str:
        """Elect the preferred leader, or any live replica if `unclean`; returns who leads now.

        WorldError if the cluster refuses.
        """


def brokers_among(components: Components) -> dict[str, Broker]:
    """The brokers among declared components, by name."""
    brokers = {name: component.as_broker for name, component in components.items()}
    return {name: broker for name, broker in brokers.items() if broker is not None}


def broker_of(topics: Iterable[str], components: Components) -> Broker | None:
    """The broker that declares the first of these topics that any broker declares."""
    brokers = brokers_among(components).values()
    for topic in topics:
        for broker in brokers:
            if topic in broker.partitions:
                return broker
    return None


def unknown_topics(topics: Iterable[str], others: Components, key: str) -> list[Problem]:
    """A problem for each topic that no broker declares."""
    known = [topic for broker in brokers_among(others).values() for topic in broker.partitions]
    nouns = {others[name].kind for name in brokers_among(others)} or {"kafka"}
    noun = nouns.pop() if len(nouns) == 1 else "broker"
    problems = []
    for topic in topics:
        if topic not in known:
            says = f"no {noun} component declares the topic '{topic}'. {suggestion(topic, known)}"
            problems.append(Problem(key=key, says=says, code=UNKNOWN_TOPIC))
    return problems


def client_problems(
    client: Any, topics: tuple[str, ...], others: Components, key: str
) -> list[Problem]:
    """Problems of a producer, consumer or sink with its topics, and with their broker."""
    problems = unknown_topics(topics, others, key)
    broker = broker_of(topics, others)
    if broker is None:
        return problems
    foreign = [topic for topic in topics if topic not in broker.partitions]
    if not problems and foreign:
        says = (
            f"'{foreign[0]}' is not a topic of {broker.name}, as '{topics[0]}' is: "
            "one client uses one broker"
        )
        problems.append(Problem(key=key, says=says))
    return problems + broker.client_problems(client)
