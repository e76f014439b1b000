"""What a broker is to the rest of streambed: a component with topics, which clients write and read.

A kind that is a broker gives itself as `as_broker`. Nothing outside the kinds knows which brokers
there are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from streambed.errors import UNKNOWN_TOPIC, Problem, suggestion
from streambed.kinds.declaring import Setting
from streambed.plan import ProcessSpec
from streambed.record.events import Event
from streambed.world import World

if TYPE_CHECKING:
    from streambed.kinds.components.roles import Role
    from streambed.kinds.components.site import Site

Ends = Mapping[str, Mapping[int, int | None]]
"""The offset that the next record of each topic and partition will get; None where nobody can tell
now.
"""


@dataclass(frozen=True, kw_only=True)
class Sample:
    """Something was measured."""

    metric: str
    of: str
    value: float


@dataclass(frozen=True, kw_only=True)
class Watched:
    """What changed at a broker since it was last looked at, and how it is now."""

    events: tuple[Event, ...] = ()
    samples: tuple[Sample, ...] = ()


class Broker(Protocol):
    """Where records are written to and read from."""

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
        """What clients are given to find it."""

    @property
    def sender(self) -> str:
        """The `module:function` that makes a Sender (agents/sender.py) for the producer agent."""

    @property
    def reader(self) -> str:
        """The `module:function` that makes a Reader (agents/reader.py) for the consumer agent."""

    def client(self, settings: Mapping[str, Setting]) -> dict[str, str]:
        """What a sender or reader is given to connect, with the settings that a producer or
        consumer declares.
        """

    def client_problems(self, client: Any) -> list[Problem]:
        """What a producer, consumer or sink declares that this broker cannot do; keys relative to
        that component.
        """

    def end_positions(self, world: World) -> Ends | None:
        """Where its topics end now; None if this broker has no positions. A topic that cannot be
        asked is left out.
        """

    def role_holder(self, role: Role, world: World) -> str:
        """The process that holds a role now; WorldError if nobody does."""

    def watch(self, world: World) -> Watched:
        """Look at it once; called every second while the load lasts, in a thread for brokers
        alone.
        """

    def read_back(self, site: Site, topics: tuple[str, ...], name: str) -> ProcessSpec | None:
        """The process `name`, which reads topics back from their start after the drain; None if
        this broker keeps no records.
        """


def brokers_among(components: Mapping[str, Any]) -> dict[str, Broker]:
    """The brokers among declared components, by name."""
    brokers = {name: component.as_broker for name, component in components.items()}
    return {name: broker for name, broker in brokers.items() if broker is not None}


def broker_of(topics: Iterable[str], components: Mapping[str, Any]) -> Broker | None:
    """The broker that declares the first of these topics that any broker declares."""
    brokers = brokers_among(components).values()
    for topic in topics:
        for broker in brokers:
            if topic in broker.partitions:
                return broker
    return None


def unknown_topics(topics: Iterable[str], others: Mapping[str, Any], key: str) -> list[Problem]:
    """A problem for each topic that no broker declares."""
    known = [topic for broker in brokers_among(others).values() for topic in broker.partitions]
    nouns = {others[name].kind for name in brokers_among(others)} or {"kafka"}
    noun = nouns.pop() if len(nouns) == 1 else "broker"
    return [
        Problem(
            key=key,
            says=f"no {noun} component declares the topic '{topic}'. {suggestion(topic, known)}",
            code=UNKNOWN_TOPIC,
        )
        for topic in topics
        if topic not in known
    ]


def client_problems(
    client: Any, topics: tuple[str, ...], others: Mapping[str, Any], key: str
) -> list[Problem]:
    """What is wrong with the topics of a producer, consumer or sink, and with what it asks of their
    broker.
    """
    wrong = unknown_topics(topics, others, key)
    broker = broker_of(topics, others)
    if broker is None:
        return wrong
    strangers = [topic for topic in topics if topic not in broker.partitions]
    if not wrong and strangers:
        says = f"'{strangers[0]}' is not a topic of {broker.name}, as '{topics[0]}' is: one client uses one broker"
        wrong.append(Problem(key=key, says=says))
    return wrong + broker.client_problems(client)
