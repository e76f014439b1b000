"""Kafka's reader: a member of a consumer group, or a reader of everything there is now."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter, methodcaller
from typing import cast

from confluent_kafka import (
    OFFSET_BEGINNING,
    OFFSET_END,
    OFFSET_INVALID,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    TopicPartition,
)

from streambed.agents.reader import (
    ColumnRecords,
    Progress,
    ReadColumns,
    Reader,
    ReaderSetup,
    ReadRecord,
)
from streambed.agents.record_identity import IDENTITY
from streambed.record import now_ns
from streambed.record.gauges import Positions
from streambed.record.tables import FLUSH_NS

ASK_S = 10
OWN_SETTINGS = {"enable.auto.offset.store": False, "log_level": 4}
"""Offsets are stored, and thus committed, only once their records are in the ledger."""
RESETS = (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE)
TRUNCATED = "its position was beyond the end of the log"
DELETED = "its position was before the start of the log"
JUMP_ASK_S = 1
"""How long to wait for the start of a partition after a jump."""
JUMP_ASK_NS = 1_000_000_000
"""How often at most it is asked for: every transaction leaves a gap of one offset."""
Headers = Sequence[tuple[str, bytes | None]]
_TOPIC, _PARTITION, _OFFSET, _TIMESTAMP, _HEADERS, _KEY, _ERROR = map(
    methodcaller, ("topic", "partition", "offset", "timestamp", "headers", "key", "error")
)
_SECOND = itemgetter(1)
Part = tuple[str, int]
_new_tuple = tuple.__new__


class KafkaRecords(ColumnRecords):
    """Messages of librdkafka, converted to records when iterated."""

    def __init__(self, messages: list[Message]) -> None:
        self._messages = messages

    def __len__(self) -> int:
        return len(self._messages)

    def __iter__(self) -> Iterator[ReadRecord]:
        return map(record_of, self._messages)

    def columns(self) -> ReadColumns:
        """All records, without a line of Python per record."""
        messages = self._messages
        return ReadColumns(
            list(map(_TOPIC, messages)),
            list(map(_PARTITION, messages)),
            list(map(_OFFSET, messages)),
            list(map(identity_in, map(_HEADERS, messages))),
            list(map(_SECOND, map(_TIMESTAMP, messages))),
            list(map(_KEY, messages)),
        )


class KafkaReader(Reader):
    """One client of librdkafka."""

    def __init__(self, setup: ReaderSetup) -> None:
        self.client = Consumer({**setup.client, **OWN_SETTINGS, "on_commit": self.on_commit})
        self.flush_ns = flush_ns_of(setup.client)
        self.next: dict[Part, int] = {}
        """The next offset of each partition."""
        self._setup = setup
        self._written_ms: dict[Part, int] = {}
        """Timestamp of the last record read from each partition."""
        self._unstored: dict[Part, TopicPartition] = {}
        """Positions reached since the last flush."""
        self._ends: dict[Part, int] = {}
        """Without a group: the end of each partition at the start."""
        self._idle = False
        """Whether the last poll returned nothing."""
        self._leaving = False
        self._asked_ns: dict[Part, int] = {}
        """When the start of each partition was last asked for."""

    def join(self) -> None:
        """Subscribe, or take all partitions without a group."""
        if self._setup.group:
            self.client.subscribe(
                list(self._setup.topics),
                on_assign=self.assigned,
                on_revoke=self.revoked,
                on_lost=self.lost,
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
            self._setup.tenures.begin((part.topic, part.partition), low, "all")
            if high > low:
                self._ends[part.topic, part.partition] = high
        self.client.assign(parts)

    @property
    def ended(self) -> bool:
        """Whether it has read each partition to its end at the start."""
        return all(self._position(part) >= end for part, end in self._ends.items())

    def assigned(self, client: Consumer, parts: list[TopicPartition]) -> None:
        """Find the start offsets, with retries: after a host was cut off, its old connections are
        dead for a while.
        """
        while not self._setup.agent.stopping:
            try:
                starts = self._starts(client, parts)
                client.assign([start for start, _ in starts])
                for start, origin in starts:
                    part = start.topic, start.partition
                    self.next[part] = start.offset
                    self._setup.tenures.begin(part, start.offset, origin)
                self.ready = True
                return
            except KafkaException as error:
                print(f"where to start: {error}", file=sys.stderr)

    def _starts(
        self, client: Consumer, parts: list[TopicPartition]
    ) -> list[tuple[TopicPartition, str]]:
        """The committed offsets, else explicit ones, each with where it is from: only a known
        position can be compared.
        """
        committed = _raise_part_errors(client.committed(parts, timeout=ASK_S))
        latest = self._setup.client.get("auto.offset.reset") == "latest"
        default = OFFSET_END if latest else OFFSET_BEGINNING
        starts = [(part, "committed") for part in committed if part.offset >= 0]
        uncommitted = [part for part in committed if part.offset < 0]
        if uncommitted:
            fresh = [TopicPartition(part.topic, part.partition, default) for part in uncommitted]
            known = _raise_part_errors(client.offsets_for_times(fresh, timeout=ASK_S))
            starts += [(part, "latest" if latest else "earliest") for part in known]
        return [
            (TopicPartition(part.topic, part.partition, part.offset), origin)
            for part, origin in starts
        ]

    def revoked(self, client: Consumer, parts: list[TopicPartition]) -> None:
        """Flush and store the offsets first, because the client commits what is stored."""
        if self._unstored:
            self._setup.flush()
        self._end(parts, "closed" if self._leaving else "revoked")

    def lost(self, client: Consumer, parts: list[TopicPartition]) -> None:
        """Other members may have the partitions already: commit nothing."""
        for part in parts:
            self._unstored.pop((part.topic, part.partition), None)
        self._setup.flush()
        self._end(parts, "lost")

    def _end(self, parts: list[TopicPartition], change: str) -> None:
        for each in parts:
            part = each.topic, each.partition
            self._setup.tenures.end(part, change, self.next.pop(part, OFFSET_INVALID))
            self._unstored.pop(part, None)

    def take(self, wait_s: float, *, most: int) -> KafkaRecords:
        """The messages that have arrived."""
        first = self.client.poll(wait_s)
        messages: list[Message] = []
        if first:
            messages = self._without_errors([first, *self.client.consume(most - 1, 0)])
            self._note_jumps(messages)
        self._idle = not messages
        self._advance(messages)
        return KafkaRecords(messages)

    def _without_errors(self, received: list[Message]) -> list[Message]:
        """The messages without an error. Errors are printed: librdkafka recovers by itself, and
        what is missing shows as lag. A position that is not in the log is noted.
        """
        if not any(map(_ERROR, received)):
            return received
        good = [message for message in received if message.error() is None]
        for message in received:
            error = message.error()
            if error is None:
                continue
            print(error, file=sys.stderr)
            if error.code() in RESETS:
                topic, partition, offset = where(message)
                self._setup.tenures.reset((topic, partition), offset, error.str())
        return good

    def _note_jumps(self, messages: list[Message]) -> None:
        """Note where the client jumped: it does so in silence if its position is not in the log."""
        left = set(self.next)
        for message in messages:
            topic, partition, offset = where(message)
            part = topic, partition
            if part in left:
                left.discard(part)
                if origin := self._origin_of_jump(part, offset):
                    self._setup.tenures.reset(part, offset, origin)
            if not left:
                return

    def _origin_of_jump(self, part: Part, offset: int) -> str:
        """Why the next record is not where it was expected; "" if it is, or if what lies between
        are markers of transactions, aborted or compacted records.
        """
        expected = self.next[part]
        if offset == expected or expected < 0:
            return ""
        if offset < expected:
            return TRUNCATED
        if now_ns() - self._asked_ns.get(part, 0) < JUMP_ASK_NS:
            return ""
        self._asked_ns[part] = now_ns()
        try:
            low, _ = self.client.get_watermark_offsets(TopicPartition(*part), timeout=JUMP_ASK_S)
        except KafkaException as error:
            print(f"start of {part}: {error}", file=sys.stderr)
            return ""
        return DELETED if low > expected else ""

    def _advance(self, messages: list[Message]) -> None:
        """Move past the last message of each partition, searched from the end to find it early."""
        left = set(self.next)
        for message in reversed(messages):
            topic, partition, offset = where(message)
            if (topic, partition) in left:
                left.discard((topic, partition))
                self.next[topic, partition] = offset + 1
                self._written_ms[topic, partition] = message.timestamp()[1]
                self._unstored[topic, partition] = _position_after(message)
            if not left:
                return

    def flushed(self) -> None:
        """Store the offsets, which the client commits later, or commit them now."""
        offsets, self._unstored = list(self._unstored.values()), {}
        if not offsets:
            return
        try:
            if self._setup.commit_on_flush:
                self._commit(offsets)
            else:
                self.client.store_offsets(offsets=offsets)
        except KafkaException as error:
            print(f"commit: {error}", file=sys.stderr)  # The next commit covers these offsets too.

    def _commit(self, offsets: list[TopicPartition]) -> None:
        """Commit now, and note the answer."""
        try:
            self.on_commit(None, self.client.commit(offsets=offsets, asynchronous=False))
        except KafkaException as failure:
            self.on_commit(failure.args[0], offsets)
            raise

    def on_commit(self, error: KafkaError | None, parts: list[TopicPartition]) -> None:
        """Note the answer to a commit."""
        for part in parts:
            if part.offset < 0:
                continue  # Nothing of it was stored.
            reason = part.error or error
            words = reason.str() if reason else None
            self._setup.tenures.committed((part.topic, part.partition), part.offset, words)

    def progress(self) -> Progress:
        """Positions and lag."""
        # Idle means that all is read: move past transaction markers and aborted records.
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
        """The age of the last record read from a partition."""
        now_s = time.time()
        return now_s - self._written_ms[part] / 1e3 if part in self._written_ms else 0.0

    def _position(self, part: Part) -> int:
        """The client's position; it also moves past transaction markers and compacted records."""
        (position,) = self.client.position([TopicPartition(*part)])
        return max(position.offset, self.next.get(part, 0))

    def leave(self) -> None:
        """Leave the group and close the client."""
        self._leaving = True
        try:
            self.client.close()
        except KafkaException as error:
            print(f"leaving the group: {error}", file=sys.stderr)
        self._setup.tenures.end_all("closed", self.next)


def identity_in(headers: Headers | None) -> bytes | None:
    """The value of the header IDENTITY; it is the last one, unless somebody else wrote it."""
    if not headers:
        return None
    name, value = headers[-1]
    if name == IDENTITY:
        return value
    return next((value for name, value in headers if name == IDENTITY), None)


def record_of(message: Message) -> ReadRecord:
    """Convert a message to a record."""
    identity = identity_in(cast("Headers | None", message.headers()))
    fields = (
        message.topic(),
        message.partition(),
        message.offset(),
        identity,
        message.timestamp()[1],
        message.key(),
        message.value(),
    )
    return _new_tuple(ReadRecord, fields)  # Calling ReadRecord takes three times as long.


def where(message: Message) -> tuple[str, int, int]:
    """Topic, partition and offset of a message that was read; they are never None."""
    topic, partition, offset = message.topic(), message.partition(), message.offset()
    assert topic is not None and partition is not None and offset is not None
    return topic, partition, offset


def _position_after(message: Message) -> TopicPartition:
    """The position after a message."""
    topic, partition, offset = where(message)
    epoch = message.leader_epoch()
    return TopicPartition(topic, partition, offset + 1, leader_epoch=-1 if epoch is None else epoch)


def _raise_part_errors(parts: list[TopicPartition]) -> list[TopicPartition]:
    """The same partitions; KafkaException if one has an error."""
    for part in parts:
        if part.error:
            raise KafkaException(part.error)
    return parts


def flush_ns_of(client: Mapping[str, str]) -> int:
    """The flush interval at which commits are as frequent as the client's settings ask for."""
    interval_ms = int(client.get("auto.commit.interval.ms", 0))
    commits = client.get("enable.auto.commit", "true") not in ("false", "f", "0")
    if commits and interval_ms > 0:
        return min(FLUSH_NS, interval_ms * 1_000_000)
    return FLUSH_NS
