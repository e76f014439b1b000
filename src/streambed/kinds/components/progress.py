"""What components say of records: who reads which topics, and how far each reader has come."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from streambed.kinds.declaring import Setting
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
    only_text: bool = False
    """It fails at a record that is not text in UTF-8."""
    isolation: Literal["read_committed", "read_uncommitted", ""] = ""
    """Whether it sees records of open and aborted transactions; empty if that is unknown."""

    @property
    def uncommitted(self) -> bool:
        """Whether it also sees records of transactions that were aborted or are open."""
        return self.isolation == "read_uncommitted"


@dataclass(frozen=True, kw_only=True)
class DeclaredWriter:
    """What the client of a producer asks of the broker: it decides what the broker promises."""

    topics: tuple[str, ...]
    acks: Literal["0", "1", "all"]
    idempotent: bool
    in_flight: int
    """Requests that may be unanswered at once."""
    transactional: bool = False


IN_FLIGHT, IN_FLIGHT_IDEMPOTENT = 1_000_000, 5
"""librdkafka's defaults for max.in.flight, without and with idempotence."""


def writer_of(
    client: Mapping[str, Setting], topics: tuple[str, ...], *, transactional: bool
) -> DeclaredWriter:
    """What the settings of a librdkafka producer ask of the broker."""
    acks = str(client.get("request.required.acks", client.get("acks", "all")))
    idempotent = transactional or str(client.get("enable.idempotence", "")).lower() == "true"
    default = IN_FLIGHT_IDEMPOTENT if idempotent else IN_FLIGHT
    in_flight = client.get("max.in.flight.requests.per.connection", client.get("max.in.flight"))
    return DeclaredWriter(
        topics=topics,
        acks="all" if acks in ("all", "-1") else "0" if acks == "0" else "1",
        idempotent=idempotent,
        in_flight=default if in_flight is None else int(in_flight),
        transactional=transactional,
    )


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
