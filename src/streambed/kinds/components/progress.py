"""What components say of records: who reads which topics, and how far each reader has come."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from streambed.record.events import Wait
from streambed.record.gauges import Positions, ReaderGauge
from streambed.world import World


@dataclass(frozen=True, kw_only=True)
class DeclaredReader:
    """A consumer group or a job that a component declares, and the topics of which it must see
    every record.
    """

    name: str
    topics: tuple[str, ...]
    group: bool = True
    """Whether it is a consumer group of a broker."""
    from_latest: bool = False
    """It begins with the newest record: what is older than the first that it saw is no loss."""


@dataclass(frozen=True, kw_only=True)
class Position:
    """How far a reader has come, as far as one process knows. Positions of several processes with
    the same reader are added up.
    """

    reader: str
    topics: tuple[str, ...]
    next: Positions = field(default_factory=dict)
    """The next offset to read, by topic and partition; empty if the broker has no offsets."""
    seen: int = 0
    """How many records it has read."""


@dataclass(frozen=True, kw_only=True)
class Progress:
    """What the drain asks of a component: what it must wait for, and how far its readers have
    come.
    """

    waits: tuple[Wait, ...] = ()
    positions: tuple[Position, ...] = ()


NOTHING_TO_WAIT_FOR = Progress()


def positions_of(
    world: World, process: str, readers: Iterable[str], topics: tuple[str, ...]
) -> list[Position]:
    """How far the readers have come that one process holds, by its gauge."""
    gauge = world.gauge(process)
    if not isinstance(gauge, ReaderGauge):
        gauge = ReaderGauge()  # It has not reported yet: it has read nothing.
    return [
        Position(reader=reader, topics=topics, next=gauge.positions, seen=gauge.seen)
        for reader in readers
    ]
