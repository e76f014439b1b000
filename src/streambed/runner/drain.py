"""Drain: the load is over; wait until every producer has its answers and every reader has caught up."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from streambed.errors import ProcessError
from streambed.kinds.components import Command, Consumer, Kafka, Producer, Sink, SparkJob
from streambed.kinds.components.component import Component
from streambed.record import now_ns
from streambed.record.gauges import Positions, ProducerGauge, ReaderGauge
from streambed.runner.live_world import LiveWorld

SETTLE_NS = 1_000_000_000


def behind(name: str, topics: Iterable[str], positions: Positions, ends: Mapping[str, Mapping[int, int]]) -> str:
    """How far a reader is behind the ends of its topics; empty if it is not."""
    lag = sum(max(0, end - positions.get(topic, {}).get(part, 0)) for topic in topics for part, end in ends.get(topic, {}).items())
    return f"{name} is {lag} records behind" if lag else ""


def group_positions(world: LiveWorld, members: Iterable[str]) -> Positions:
    """How far a consumer group has come: the farthest of its members in each partition."""
    farthest: Positions = {}
    for member in members:
        gauge = world.gauge(member)
        positions = gauge.positions if isinstance(gauge, ReaderGauge) else {}
        for topic, parts in positions.items():
            mine = farthest.setdefault(topic, {})
            mine.update({part: max(offset, mine.get(part, 0)) for part, offset in parts.items()})
    return farthest


class Drain:
    """Asks everybody, and remembers for how long the answer has been "nothing is missing"."""

    def __init__(self, world: LiveWorld, components: Sequence[Component]) -> None:
        self._world = world
        self._components = components
        self._still_since_ns: int | None = None
        self._may_bring_more = any(isinstance(component, SparkJob | Command) for component in components)
        self.waits: list[str] = []

    def done(self) -> bool:
        """Whether all have caught up and, where there are jobs or commands, stayed so for a second: they may still bring output."""
        self.waits = [said for said in self._ask() if said]
        if self.waits:
            self._still_since_ns = None
            return False
        self._still_since_ns = self._still_since_ns or now_ns()
        return now_ns() - self._still_since_ns >= (SETTLE_NS if self._may_bring_more else 0)

    def _ask(self) -> list[str]:
        producers = [component for component in self._components if isinstance(component, Producer)]
        said = [self._undecided(agent) for producer in producers for agent in producer.groups]
        said += [f"{name} still runs" for name in self._not_ended()]
        jobs = {job.name: job.log(self._world).positions() for job in self._components if isinstance(job, SparkJob)}
        ends = self._ends()
        for job in (job for job in self._components if isinstance(job, SparkJob)):
            if self._world.find(job.name).alive:
                said.append(behind(job.name, {*job.reads, *jobs[job.name]}, jobs[job.name], ends))
        said += [f"{topic} cannot be looked at" for topic in self._topics() if topic not in ends]
        for name, members, topics in self._readers():
            said.append(behind(name, topics, group_positions(self._world, members), ends))
        return said

    def _undecided(self, producer: str) -> str:
        gauge = self._world.gauge(producer)
        if (gauge and gauge.done) or not self._world.find(producer).alive:
            return ""
        undecided = gauge.open if isinstance(gauge, ProducerGauge) else 0
        return f"{producer} has {undecided} records under way"

    def _not_ended(self) -> list[str]:
        waited = [component for component in self._components if isinstance(component, Command) and component.ends == "ended"]
        return [command.name for command in waited if self._world.find(command.name).alive]

    def _topics(self) -> list[str]:
        return [topic for kafka in self._components if isinstance(kafka, Kafka) for topic in kafka.topics]

    def _ends(self) -> dict[str, dict[int, int]]:
        ends: dict[str, dict[int, int]] = {}
        for kafka in self._components:
            if isinstance(kafka, Kafka) and kafka.topics:
                ends.update(kafka.cluster(self._world).end_offsets(list(kafka.topics)))
        return ends

    def _readers(self) -> Iterator[tuple[str, list[str], set[str]]]:
        """Whoever must have read all: a name, the agents that read for it together, and the topics."""
        groups: dict[str, tuple[list[str], set[str]]] = {}
        for consumer in (component for component in self._components if isinstance(component, Consumer | Sink)):
            agents = list(consumer.groups) if isinstance(consumer, Consumer) else [consumer.name]
            living = [agent for agent in agents if self._world.find(agent).alive]
            if isinstance(consumer, Consumer) and not consumer.share:
                yield from ((consumer.name, [agent], set(consumer.reads)) for agent in living)
            elif living:
                members, topics = groups.setdefault(consumer.group or consumer.name, ([], set()))
                members += living
                topics.update(consumer.reads)
        yield from ((name, members, topics) for name, (members, topics) in groups.items())


def final_states(world: LiveWorld, components: Iterable[Component]) -> None:
    """Raise ProcessError if a command is not in the state that was declared for the end of the load."""
    for command in (component for component in components if isinstance(component, Command)):
        process = world.find(command.name)
        if command.ends == ("ended" if process.alive else "running"):
            found = "still runs" if process.alive else "has ended"
            last = "".join(f"\n  | {line}" for line in process.last_lines())
            raise ProcessError(
                f"{command.name} on {command.node} {found} after the drain, but the declaration says `ends: {command.ends}`. "
                f"Its last lines (all in {process.log}):{last}"
            )
