"""Drain: after the load, wait until producers have their acks and readers have caught up."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from streambed.errors import ProcessError
from streambed.kinds.components.broker import Broker, Ends
from streambed.kinds.components.component import Component
from streambed.kinds.components.progress import Position
from streambed.record import now_ns
from streambed.record.events import Wait
from streambed.world import World

SETTLE_NS = 1_000_000_000
"""How long readers must have caught up where jobs or programs may still write more."""
QUIET_NS = 2_000_000_000
"""How long no record must arrive before a reader of a broker without offsets has caught up."""


def merge_positions(positions: Iterable[Position]) -> list[Position]:
    """One position per reader: the farthest offset of its processes and the sum of their counts."""
    by_reader: dict[str, Position] = {}
    for position in positions:
        known = by_reader.get(position.reader)
        by_reader[position.reader] = _merge(known, position) if known else position
    return list(by_reader.values())


def _merge(one: Position, other: Position) -> Position:
    farthest = {topic: dict(parts) for topic, parts in one.next.items()}
    for topic, parts in other.next.items():
        mine = farthest.setdefault(topic, {})
        for part, offset in parts.items():
            mine[part] = max(offset, mine.get(part, 0))
    topics = tuple(dict.fromkeys((*one.topics, *other.topics)))
    return Position(reader=one.reader, topics=topics, next=farthest, seen=one.seen + other.seen)


def unreadable(broker: Broker, ends: Ends) -> Iterator[Wait]:
    """A wait for each topic or partition of a broker whose end offset is unknown."""
    for topic in broker.partitions:
        if not ends.get(topic):
            yield Wait(reason="unreadable", topics=(topic,))
            continue
        for partition, end in ends[topic].items():
            if end is None:
                yield Wait(reason="unreadable", topics=(topic,), partition=partition)


def behind(position: Position, ends: Ends) -> Iterator[Wait]:
    """A wait for each partition that a reader has not read to its end."""
    for topic in position.topics:
        read = position.next.get(topic, {})
        for partition, end in ends.get(topic, {}).items():
            lag = (end or 0) - read.get(partition, 0)
            if lag > 0:
                yield Wait(
                    reason="behind",
                    reader=position.reader,
                    topics=(topic,),
                    partition=partition,
                    records=lag,
                )


class Drain:
    """Asks every component for its progress, and tracks how long nothing has been pending."""

    def __init__(self, world: World, components: Sequence[Component]) -> None:
        self._world = world
        self._components = components
        self._brokers = [component.as_broker for component in components if component.as_broker]
        self._still_since_ns: int | None = None
        more_may_come = any(component.may_write_more for component in components)
        self._settle_ns = SETTLE_NS if more_may_come else 0
        self._arrivals: dict[str, tuple[int, int]] = {}
        self.waits: tuple[Wait, ...] = ()

    def done(self) -> bool:
        """Whether all have caught up and, where more may be written, stayed so for a while."""
        self.waits = tuple(self._ask())
        if self.waits:
            self._still_since_ns = None
            return False
        self._still_since_ns = self._still_since_ns or now_ns()
        return now_ns() - self._still_since_ns >= self._settle_ns

    def _ask(self) -> Iterator[Wait]:
        # Positions before ends: what is written in between then counts as not read.
        progress = [component.progress(self._world) for component in self._components]
        positions: list[Position] = []
        for each in progress:
            positions += each.positions
        ends: dict[str, Ends] = {}
        for broker in self._brokers:
            known = broker.end_positions(self._world)
            if known is not None:
                ends[broker.name] = known
        for each in progress:
            yield from each.waits
        for broker in self._brokers:
            if broker.name in ends:
                yield from unreadable(broker, ends[broker.name])
        for position in merge_positions(positions):
            yield from self._of_reader(position, ends)

    def _of_reader(self, position: Position, ends: dict[str, Ends]) -> Iterator[Wait]:
        for known in ends.values():
            yield from behind(position, known)
        without_offsets: list[str] = []
        for broker in self._brokers:
            if broker.name not in ends:
                without_offsets += [
                    topic for topic in broker.partitions if topic in position.topics
                ]
        if without_offsets and self._still_arrives(position):
            yield Wait(reason="arriving", reader=position.reader, topics=tuple(without_offsets))

    def _still_arrives(self, position: Position) -> bool:
        """Whether a reader has read anything within QUIET_NS."""
        seen, since_ns = self._arrivals.get(position.reader, (-1, 0))
        if position.seen != seen:
            since_ns = now_ns()
            self._arrivals[position.reader] = (position.seen, since_ns)
        return now_ns() - since_ns < QUIET_NS


def final_states(world: World, components: Iterable[Component]) -> None:
    """Raise ProcessError if a component is not in the state declared for the end of the load."""
    for component in components:
        if problem := component.final_problem(world):
            raise ProcessError(problem)
