"""A Kafka client, a ledger and an agent for tests of the consumer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from confluent_kafka import KafkaError, KafkaException, TopicPartition

from streambed.agents.agent import Agent
from streambed.agents.kafka.reader import KafkaReader
from streambed.agents.reader import Reader, ReaderSetup
from streambed.agents.reading import Reading
from streambed.record.orders import ConsumerMember, ConsumerOrder


class Message:
    """As much of a message of librdkafka as is asked for."""

    def __init__(self, offset: int) -> None:
        self._offset = offset

    def error(self) -> None:
        return None

    def topic(self) -> str:
        return "lines"

    def partition(self) -> int:
        return 0

    def offset(self) -> int:
        return self._offset

    def timestamp(self) -> tuple[int, int]:
        return 1, 1_000

    def headers(self) -> list[tuple[str, bytes]]:
        return [("other", b"x"), ("sb", b"poet/h1/7")]

    def key(self) -> bytes:
        return b"k"

    def value(self) -> bytes:
        return b"line"

    def leader_epoch(self) -> int:
        return 4


class Client:
    """Gives these records, and remembers what it was asked."""

    def __init__(self, *offsets: int, calls: list[Any] | None = None) -> None:
        self.records = [Message(offset) for offset in offsets]
        self.waits: list[float] = []
        self.calls: list[Any] = [] if calls is None else calls
        self.start = 0
        self.refusal: KafkaError | None = None

    def poll(self, wait_s: float) -> Message | None:
        self.waits.append(wait_s)
        return self.records.pop(0) if self.records else None

    def consume(self, count: int, wait_s: float) -> list[Message]:
        self.waits.append(wait_s)
        taken, self.records = self.records, []
        return taken

    def get_watermark_offsets(
        self, part: Any, cached: bool = False, timeout: float = 0
    ) -> tuple[int, int]:
        return self.start, 10

    def assign(self, parts: list[TopicPartition]) -> None:
        self.calls.append(("assign", [(part.partition, part.offset) for part in parts]))

    def committed(self, parts: list[TopicPartition], timeout: float) -> list[TopicPartition]:
        known = {0: 4}
        return [
            TopicPartition(part.topic, part.partition, known.get(part.partition, -1001))
            for part in parts
        ]

    def offsets_for_times(
        self, parts: list[TopicPartition], timeout: float
    ) -> list[TopicPartition]:
        return [TopicPartition(part.topic, part.partition, 2) for part in parts]

    def position(self, parts: list[Any]) -> list[Any]:
        return parts

    def store_offsets(self, offsets: list[TopicPartition]) -> None:
        self.calls.append(
            ("store", [(part.partition, part.offset, part.leader_epoch) for part in offsets])
        )

    def commit(self, offsets: list[TopicPartition], asynchronous: bool) -> list[TopicPartition]:
        self.calls.append(("commit", [(part.partition, part.offset) for part in offsets]))
        if self.refusal:
            raise KafkaException(self.refusal)
        return offsets

    def close(self) -> None:
        self.calls.append("close")


class Ledger:
    """A table that remembers when it was flushed."""

    def __init__(self, name: str, calls: list[Any]) -> None:
        self.name = name
        self.calls = calls

    def extend(self, rows: Any) -> None:
        """Nobody looks."""

    def add(self, records: Any, seen_ns: int, tenures: Any) -> None:
        """Nobody looks."""

    def flush(self) -> None:
        self.calls.append(f"flush {self.name}")

    def close(self) -> None:
        self.calls.append(f"close {self.name}")


def reading(agent: Agent, make: Callable[[ReaderSetup], Reader], **options: Any) -> Reading:
    member = ConsumerMember(name="reader", group="readers", client={"group.id": "readers"})
    order = ConsumerOrder(
        reader="", members=(member,), topics=("lines",), client=options.pop("settings", {})
    )
    return Reading(agent, member, order, make, **{"ledger": False, **options})


def kafka_reading(agent: Agent, client: Client, **options: Any) -> Reading:
    def make(setup: ReaderSetup) -> KafkaReader:
        reader = KafkaReader(setup)
        reader.client.close()
        reader.client, reader.ready = client, True  # type: ignore[assignment]
        reader.next = {("lines", 0): 0}
        setup.tenures.begin(("lines", 0), 0, "earliest")
        return reader

    return reading(agent, make, **options)


def noting(agent: Agent, *offsets: int, **options: Any) -> tuple[Reading, list[Any]]:
    """A consumer with both tables, and all that it asks of them and of its client, in order."""
    calls: list[Any] = []
    one = kafka_reading(agent, Client(*offsets, calls=calls), **options)
    one.rows, one.kept = Ledger("seen", calls), Ledger("kept", calls)  # type: ignore[assignment]
    return one, calls
