"""Forward records to Kafka; each is settled once, when Kafka has acknowledged it or it failed.

librdkafka works in its own threads. The event loop polls its reports every millisecond while any
are awaited, so callbacks run in the loop and no Python thread is needed.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Protocol

from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from gateway_traffic.errors import ServiceError
from gateway_traffic.ingest.limits import Limits

Settled = Callable[[str | None], None]
"""Called once for a record: with None once Kafka has acknowledged it, else with the error."""
Headers = list[tuple[str, str | bytes | None]]
"""Headers in the form of confluent-kafka."""
POLL_S = 0.001
STALLED_S = 5.0
"""If Kafka acknowledges nothing for longer than this, it is slow or away."""


class Forwarder(Protocol):
    """What the server needs to forward records."""

    outstanding: int

    def forward(
        self, topic: str, key: str, value: bytes, headers: Headers, settled: Settled
    ) -> None:
        """Take a record. It may be settled before this returns only if it failed."""

    @property
    def full(self) -> bool:
        """Whether no more should be forwarded for now."""

    async def room(self) -> None:
        """Wait until there is room for more."""

    @property
    def trouble(self) -> str:
        """Why records wait; empty if all is well."""

    async def close(self, within_s: float) -> int:
        """Wait until everything is settled. Returns the number of records that are not."""


class KafkaForwarder:
    """Forwards to a Kafka cluster with an idempotent producer and acks=all."""

    def __init__(
        self, bootstrap: str, limits: Limits, settings: dict[str, str] | None = None
    ) -> None:
        self.outstanding = 0
        self._limits = limits
        self._bytes = 0
        self._polling = False
        self._settled_at = time.monotonic()
        self._room = asyncio.Event()
        self._room.set()
        self._loop = asyncio.get_running_loop()
        self._error = ""
        self._producer = Producer(
            _producer_settings(bootstrap, limits) | {"error_cb": self._on_error} | (settings or {})
        )

    def forward(
        self, topic: str, key: str, value: bytes, headers: Headers, settled: Settled
    ) -> None:
        """Hand a record to librdkafka."""
        size = len(value)
        try:
            self._producer.produce(
                topic,
                value,
                key,
                headers=headers,
                on_delivery=partial(self._delivered, settled, size),
            )
        except (BufferError, KafkaException) as error:
            settled(str(error))
            return
        if not self.outstanding:
            self._settled_at = time.monotonic()
        self.outstanding += 1
        self._bytes += size
        if self.full:
            self._room.clear()
        if not self._polling:
            self._polling = True
            self._loop.call_later(POLL_S, self._poll)

    @property
    def full(self) -> bool:
        """Whether the limit on outstanding records or bytes is reached."""
        return (
            self.outstanding >= self._limits.outstanding_records
            or self._bytes >= self._limits.outstanding_bytes
        )

    async def room(self) -> None:
        """Wait until a quarter of the limit is free."""
        await self._room.wait()

    @property
    def trouble(self) -> str:
        """Says so if records wait and Kafka has acknowledged none for STALLED_S."""
        waited_s = time.monotonic() - self._settled_at
        if self.outstanding and waited_s > STALLED_S:
            stalled = (
                f"Kafka has acknowledged none of {self.outstanding} records for {waited_s:.0f} s."
            )
            return f"{stalled} {self._error}".strip()
        return ""

    def _on_error(self, error: KafkaError) -> None:
        self._error = f"Its client says: {error.str()}"

    async def close(self, within_s: float) -> int:
        """Wait for Kafka, then purge the rest."""
        end = time.monotonic() + within_s
        while self.outstanding and time.monotonic() < end:
            self._producer.poll(0)
            await asyncio.sleep(POLL_S)
        lost = self.outstanding
        if lost:
            self._producer.purge()
            self._producer.poll(0)
        return lost

    def _poll(self) -> None:
        self._producer.poll(0)
        self._polling = self.outstanding > 0
        if self._polling:
            self._loop.call_later(POLL_S, self._poll)

    def _delivered(self, settled: Settled, size: int, error: KafkaError | None, _: Any) -> None:
        self.outstanding -= 1
        self._bytes -= size
        if error is None:
            self._settled_at = time.monotonic()
        if not self._room.is_set() and self._mostly_free:
            self._room.set()
        if error is None:
            settled(None)
        else:
            settled(f"Kafka did not take the record: {error.str()}")

    @property
    def _mostly_free(self) -> bool:
        limits = self._limits
        return (
            self.outstanding <= limits.outstanding_records * 3 // 4
            and self._bytes <= limits.outstanding_bytes * 3 // 4
        )


class Discard:
    """Discards records and settles them at once, to measure the server without Kafka."""

    def __init__(self) -> None:
        self.outstanding = 0
        self._loop = asyncio.get_running_loop()
        self._waiting: list[Settled] = []

    def forward(
        self, topic: str, key: str, value: bytes, headers: Headers, settled: Settled
    ) -> None:
        """Drop the record and settle it in the next poll."""
        if not self._waiting:
            self._loop.call_later(POLL_S, self._settle)
        self._waiting.append(settled)
        self.outstanding += 1

    def _settle(self) -> None:
        waiting, self._waiting = self._waiting, []
        self.outstanding -= len(waiting)
        for settled in waiting:
            settled(None)

    @property
    def full(self) -> bool:
        """Always false."""
        return False

    async def room(self) -> None:
        """Return at once."""

    @property
    def trouble(self) -> str:
        """Always empty."""
        return ""

    async def close(self, within_s: float) -> int:
        """Settle what is left."""
        self._settle()
        return 0


def missing_topics(bootstrap: str, topics: Iterable[str], within_s: float) -> list[str] | None:
    """Which of these topics Kafka does not have; None if Kafka does not answer in time."""
    client = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    try:
        existing = client.list_topics(timeout=within_s).topics
    except KafkaException:
        return None
    return [topic for topic in topics if topic not in existing]


def make_topics(
    bootstrap: str, topics: Iterable[str], *, partitions: int, replicas: int, within_s: float
) -> list[str]:
    """Create the topics that Kafka does not have. Returns their names."""
    missing = missing_topics(bootstrap, topics, within_s)
    if missing is None:
        raise ServiceError(
            f"Kafka at {bootstrap} did not answer within {within_s:.0f} s. Is it running, and is "
            "the address right?"
        )
    client = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    if not missing:
        return []
    topics_to_make = [NewTopic(topic, partitions, replicas) for topic in missing]
    for topic, future in client.create_topics(topics_to_make).items():
        try:
            future.result()
        except KafkaException as error:
            raise ServiceError(
                f"Kafka at {bootstrap} did not make the topic {topic}: {error.args[0].str()}"
            ) from None
    return missing


def _producer_settings(bootstrap: str, limits: Limits) -> dict[str, Any]:
    return {
        "bootstrap.servers": bootstrap,
        "enable.idempotence": True,
        "acks": "all",
        "linger.ms": 2,
        "delivery.timeout.ms": int(limits.delivery_s * 1000),
        # The partitioner of Java clients: a gateway keeps its partition with any client.
        "partitioner": "murmur2_random",
        # Twice our own limit, so that ours is reached first.
        "queue.buffering.max.messages": limits.outstanding_records * 2,
        "queue.buffering.max.kbytes": max(1024, limits.outstanding_bytes * 2 // 1024),
        "reconnect.backoff.max.ms": 1000,
        # It would log each attempt to connect; `trouble` is enough.
        "log_level": 0,
    }
