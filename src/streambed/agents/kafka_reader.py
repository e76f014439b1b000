"""Kafka's reader: a member of a consumer group, or a reader of all that partitions hold now."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import cast

from confluent_kafka import (
    OFFSET_BEGINNING,
    OFFSET_END,
    OFFSET_INVALID,
    Consumer,
    KafkaException,
    Message,
    TopicPartition,
)

from streambed.agents.reader import Progress, Reader, ReaderSetup, ReadRecord
from streambed.agents.record_identity import IDENTITY
from streambed.record.gauges import Positions
from streambed.record.tables import FLUSH_NS

ASK_S = 10
OWN_SETTINGS = {"enable.auto.offset.store": False, "log_level": 4}
"""Offsets are stored, and so may be committed, once their records are in the ledger."""
Headers = Iterable[tuple[str, bytes | None]]
Part = tuple[str, int]
_new_tuple = tuple.__new__


class KafkaRecords:
    """Messages of librdkafka; they become records only if somebody looks."""

    def __init__(self, messages: list[Message]) -> None:
        self._messages = messages

    def __len__(self) -> int:
        return len(self._messages)

    def __iter__(self) -> Iterator[ReadRecord]:
        return map(record_of, self._messages)


class KafkaReader(Reader):
    """One client of librdkafka."""

    def __init__(self, setup: ReaderSetup) -> None:
        self.client = Consumer({**setup.client, **OWN_SETTINGS})
        self.flush_ns = flush_ns_of(setup.client)
        self.next: dict[Part, int] = {}
        """The next offset of each partition."""
        self._setup = setup
        self._written_ms: dict[Part, int] = {}
        """When the last record that was read from each partition was written, by the wall clock."""
        self._unstored: dict[Part, TopicPartition] = {}
        """The positions that were reached since the last flush."""
        self._ends: dict[Part, int] = {}
        """Without a group: where each partition ended at the beginning."""
        self._idle = False
        """Whether nothing had come at the last look."""

    def join(self) -> None:
        """Subscribe, or take all partitions without a group."""
        if self._setup.group:
            self.client.subscribe(
                list(self._setup.topics), on_assign=self.assigned, on_revoke=self.revoked
            )
        else:
            self._take_all_partitions()

    def _take_all_partitions(self) -> None:
        parts = [
            TopicPartition(topic, number, OFFSET_BEGINNING)
            for topic in self._setup.topics
            for number in self.client.list_topics(topic, timeout=ASK_S).topics[topic].partitions
        ]
        for part in parts:
            low, high = self.client.get_watermark_offsets(part, timeout=ASK_S)
            self.next[part.topic, part.partition] = low
            if high > low:
                self._ends[part.topic, part.partition] = high
        self.client.assign(parts)

    @property
    def ended(self) -> bool:
        """Whether it stands behind the end of each partition."""
        return all(self._position(part) >= end for part, end in self._ends.items())

    def assigned(self, client: Consumer, parts: list[TopicPartition]) -> None:
        """Ask until there is an answer where to start: just after a host was cut off, its old
        connections are dead for a while.
        """
        while not self._setup.agent.stopping:
            try:
                client.assign(self._starts(client, parts))
                self.ready = True
                return
            except KafkaException as error:
                print(f"where to start: {error}", file=sys.stderr)

    def _starts(self, client: Consumer, parts: list[TopicPartition]) -> list[TopicPartition]:
        """Where the group left off, or a stated offset: a position that is known is one that can be
        compared.
        """
        committed = _sound_parts(client.committed(parts, timeout=ASK_S))
        latest = self._setup.client.get("auto.offset.reset") == "latest"
        usual = OFFSET_END if latest else OFFSET_BEGINNING
        fresh = [
            TopicPartition(part.topic, part.partition, usual)
            for part in committed
            if part.offset < 0
        ]
        starts = [part for part in committed if part.offset >= 0]
        starts += _sound_parts(client.offsets_for_times(fresh, timeout=ASK_S)) if fresh else []
        self.next.update({(part.topic, part.partition): part.offset for part in starts})
        return [TopicPartition(part.topic, part.partition, part.offset) for part in starts]

    def revoked(self, client: Consumer, parts: list[TopicPartition]) -> None:
        """Partitions that go to another member are flushed and stored first: the client commits
        what is stored.
        """
        if self._unstored:
            self._setup.flush()
        for part in parts:
            self.next.pop((part.topic, part.partition), None)
            self._unstored.pop((part.topic, part.partition), None)

    def take(self, wait_s: float, *, most: int) -> KafkaRecords:
        """The messages that have come."""
        first = self.client.poll(wait_s)
        messages = _sound([first, *self.client.consume(most - 1, 0)]) if first else []
        self._idle = not messages
        self._pass(messages)
        return KafkaRecords(messages)

    def _pass(self, messages: list[Message]) -> None:
        """Stand behind the last of them in each partition, looked for from the end: that is found
        at once where there is one.
        """
        left = set(self.next)
        for message in reversed(messages):
            topic, partition, offset = where(message)
            if (topic, partition) in left:
                left.discard((topic, partition))
                self.next[topic, partition] = offset + 1
                self._written_ms[topic, partition] = message.timestamp()[1]
                self._unstored[topic, partition] = _behind(message)
            if not left:
                return

    def flushed(self) -> None:
        """Store the offsets, which the client then commits; or commit them now."""
        offsets, self._unstored = list(self._unstored.values()), {}
        if not offsets:
            return
        try:
            if self._setup.commit_on_flush:
                self.client.commit(offsets=offsets, asynchronous=False)
            else:
                self.client.store_offsets(offsets=offsets)
        except KafkaException as error:
            print(f"commit: {error}", file=sys.stderr)  # The next one says the same and more.

    def progress(self) -> Progress:
        """Positions, and how much is left."""
        # It has read all: it stands behind what no reader is given, the ends of transactions and
        # what was aborted.
        if self._idle:
            self.next = {part: self._position(part) for part in self.next}
        positions: Positions = {}
        lag, lag_s = 0, 0.0
        for (topic, partition), offset in self.next.items():
            positions.setdefault(topic, {})[partition] = offset
            _, high = self.client.get_watermark_offsets(
                TopicPartition(topic, partition), cached=True
            )
            if high > max(OFFSET_INVALID, offset):
                lag += high - offset
                lag_s = max(lag_s, self._age_s((topic, partition)))
        return Progress(positions=positions, lag=lag, lag_s=round(lag_s, 3))

    def _age_s(self, part: Part) -> float:
        """The age of the last record that was read."""
        now_s = time.time()
        return now_s - self._written_ms[part] / 1e3 if part in self._written_ms else 0.0

    def _position(self, part: Part) -> int:
        """Where the client stands, which moves past transaction markers and compacted records as
        well.
        """
        (position,) = self.client.position([TopicPartition(*part)])
        return max(position.offset, self.next.get(part, 0))

    def leave(self) -> None:
        """Leave the group."""
        try:
            self.client.close()
        except KafkaException as error:
            print(f"leaving the group: {error}", file=sys.stderr)


def record_of(message: Message) -> ReadRecord:
    """A message as a record."""
    identity, headers = None, cast("Headers", message.headers() or ())
    for name, value in headers:
        if name == IDENTITY:
            identity = value
            break
    fields = (
        message.topic(),
        message.partition(),
        message.offset(),
        identity,
        message.timestamp()[1],
        message.key(),
        message.value(),
    )
    return _new_tuple(ReadRecord, fields)  # A call of ReadRecord takes three times as long.


def where(message: Message) -> tuple[str, int, int]:
    """Topic, partition and offset of a message that was read, which are known by then."""
    topic, partition, offset = message.topic(), message.partition(), message.offset()
    assert topic is not None and partition is not None and offset is not None
    return topic, partition, offset


def _behind(message: Message) -> TopicPartition:
    """The position behind a message."""
    topic, partition, offset = where(message)
    epoch = message.leader_epoch()
    return TopicPartition(topic, partition, offset + 1, leader_epoch=-1 if epoch is None else epoch)


def _sound(received: list[Message]) -> list[Message]:
    """The records among what was received; errors are told, and librdkafka goes on by itself: what
    was missed shows as lag.
    """
    good = [message for message in received if message.error() is None]
    if len(good) < len(received):
        for error in filter(None, (message.error() for message in received)):
            print(error, file=sys.stderr)
    return good


def _sound_parts(parts: list[TopicPartition]) -> list[TopicPartition]:
    """Partitions that were asked about; KafkaException if the answer for one of them is an
    error.
    """
    for part in parts:
        if part.error:
            raise KafkaException(part.error)
    return parts


def flush_ns_of(client: Mapping[str, str]) -> int:
    """How often rows must be flushed, so that commits are not older than the client's settings ask
    for.
    """
    interval_ms = int(client.get("auto.commit.interval.ms", 0))
    commits = client.get("enable.auto.commit", "true") not in ("false", "f", "0")
    return min(FLUSH_NS, interval_ms * 1_000_000) if commits and interval_ms > 0 else FLUSH_NS
