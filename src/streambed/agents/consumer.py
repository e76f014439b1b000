"""Consumer agent: notes when it saw each record. Without a group it is the witness, which reads all there is once.

One process may hold many consumers, each with a client of its own in the network of its own host.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, OFFSET_END, OFFSET_INVALID, Consumer, KafkaException, Message, TopicPartition

from streambed.agents import host_network
from streambed.agents.agent import Agent
from streambed.agents.sender import IDENTITY
from streambed.record import now_ns
from streambed.tables import FLUSH_NS, KEPT, SEEN, Table

ASK_S = 10
BATCH = 10_000
POLL_S = 0.1
POLL_S_OF_MANY = 0.005
"""Of many clients only one can be waited for: what came for the others is looked for so often."""
NEVER_STORED = {"enable.auto.offset.store": False}
"""An offset may be committed once it is stored: that must not happen before its row is flushed."""


def identity(message: Message) -> tuple[str | None, int | None]:
    """Who sent a record and as which; nothing for records that no producer of ours sent."""
    headers: Any = message.headers()
    for name, value in headers or ():
        if name == IDENTITY and value is not None:
            producer, _, sequence = value.decode().rpartition("/")
            return producer, int(sequence)
    return None, None


def where(message: Message) -> tuple[str, int, int]:
    """Topic, partition and offset of a record that was read, which are known by then."""
    topic, partition, offset = message.topic(), message.partition(), message.offset()
    assert topic is not None and partition is not None and offset is not None
    return topic, partition, offset


def flush_ns_of(client: Mapping[str, str]) -> int:
    """How often rows must be flushed, so that commits are not older than the client's settings ask for."""
    interval_ms = int(client.get("auto.commit.interval.ms", 0))
    commits = client.get("enable.auto.commit", "true") not in ("false", "f", "0") and interval_ms > 0
    return min(FLUSH_NS, interval_ms * 1_000_000) if commits else FLUSH_NS


def _after(message: Message) -> TopicPartition:
    """The position behind a record."""
    topic, partition, offset = where(message)
    epoch = message.leader_epoch()
    return TopicPartition(topic, partition, offset + 1, leader_epoch=-1 if epoch is None else epoch)


def _sound_parts(parts: list[TopicPartition]) -> list[TopicPartition]:
    """Partitions that were asked about; KafkaException if the answer for one of them is an error."""
    for part in parts:
        if part.error:
            raise KafkaException(part.error)
    return parts


class Reading:
    """One consumer and what it has seen."""

    def __init__(self, agent: Agent, order: dict[str, Any]) -> None:
        self.agent = agent
        self.order = order
        self.client = Consumer({**order["client"], **NEVER_STORED, "log_level": 4})
        self.table = agent.table("seen", SEEN, of=order["consumer"]) if order["ledger"] else None
        self.kept = agent.table("kept", KEPT, of=order["consumer"]) if order["keep"] else None
        self.seen = 0
        self.next: dict[tuple[str, int], int] = {}
        self.written_ms: dict[tuple[str, int], int] = {}
        """When the last record that was read from each partition was written, by the wall clock."""
        self.ready = False
        self.idle = False
        """Whether nothing had come at the last look."""
        self.flush_ns = flush_ns_of(order["client"])
        self._flushed_ns = now_ns()
        self._unstored: dict[tuple[str, int], TopicPartition] = {}
        """The positions that were reached since the last flush."""

    def assigned(self, client: Consumer, parts: list[TopicPartition]) -> None:
        """Asked until it is answered where to start: just after a host was cut off, its old connections are deaf for a while."""
        while not self.agent.stopping:
            try:
                client.assign(self._starts(client, parts))
                self.ready = True
                return
            except KafkaException as error:
                print(f"where to start: {error}", file=sys.stderr)

    def _starts(self, client: Consumer, parts: list[TopicPartition]) -> list[TopicPartition]:
        """Where the group left off, or a stated offset: a position that is known is one that can be compared."""
        committed = _sound_parts(client.committed(parts, timeout=ASK_S))
        usual = OFFSET_END if self.order["client"].get("auto.offset.reset") == "latest" else OFFSET_BEGINNING
        fresh = [TopicPartition(part.topic, part.partition, usual) for part in committed if part.offset < 0]
        found = [part for part in committed if part.offset >= 0]
        found += _sound_parts(client.offsets_for_times(fresh, timeout=ASK_S)) if fresh else []
        self.next.update({(part.topic, part.partition): part.offset for part in found})
        return [TopicPartition(part.topic, part.partition, part.offset) for part in found]

    def revoked(self, client: Consumer, parts: list[TopicPartition]) -> None:
        """Partitions that move to another member are flushed and stored first: the client commits what is stored."""
        if self._unstored:
            self.flush()
        for part in parts:
            self.next.pop((part.topic, part.partition), None)

    def join(self) -> None:
        """Become a member of the group."""
        self.client.subscribe(self.order["topics"], on_assign=self.assigned, on_revoke=self.revoked)

    def take(self, wait_s: float) -> None:
        """Read what has come, waiting a while for the first record, and note it."""
        first = self.client.poll(wait_s)
        messages = self.sound([first, *self.client.consume(BATCH, 0)]) if first else []
        self.idle = not messages
        self.note(messages)

    def sound(self, received: list[Message]) -> list[Message]:
        """The records among what was received; errors are told, and librdkafka goes on by itself: what was missed shows as lag."""
        good = [message for message in received if message.error() is None]
        if len(good) < len(received):
            for error in filter(None, (message.error() for message in received)):
                print(error, file=sys.stderr)
        return good

    def note(self, messages: list[Message]) -> None:
        """Keep when each was seen, and how far this has come."""
        seen_ns, name = now_ns(), self.order["consumer"]
        if self.table:
            for message in messages:
                self.table.append(name, self.order["group"], *where(message), *identity(message), seen_ns, message.timestamp()[1])
        if self.kept:
            for message in messages:
                self.kept.append(name, *where(message), message.key(), message.value())
        self._pass(messages)
        self.seen += len(messages)

    def _pass(self, messages: list[Message]) -> None:
        """Stand behind the last of them in each partition, looked for from the end: that is found at once where there is one."""
        left = set(self.next)
        for message in reversed(messages):
            topic, partition, offset = where(message)
            if (topic, partition) in left:
                left.discard((topic, partition))
                self.next[topic, partition] = offset + 1
                self.written_ms[topic, partition] = message.timestamp()[1]
                self._unstored[topic, partition] = _after(message)
            if not left:
                return

    def tables(self) -> list[Table]:
        """Its files in the history."""
        return [table for table in (self.table, self.kept) if table]

    def flush_if_due(self) -> None:
        """Flush if the last time is long ago."""
        if now_ns() - self._flushed_ns >= self.flush_ns:
            self.flush()

    def flush(self) -> None:
        """Write the rows, and only then let the client commit the offsets that they cover."""
        self._flushed_ns = now_ns()
        for table in self.tables():
            table.flush()
        stored, self._unstored = list(self._unstored.values()), {}
        if not stored:
            return
        try:
            self.client.store_offsets(offsets=stored)
        except KafkaException as error:
            print(f"store offsets: {error}", file=sys.stderr)  # They are read again after a restart.

    def gauge(self) -> dict[str, Any]:
        """What was seen, how far each partition was read, how much is left."""
        if self.idle:  # It has read all there is: it stands behind what no reader is given, the ends of transactions and what was aborted.
            self.next = {part: self._position(part) for part in self.next}
        positions: dict[str, dict[str, int]] = {}
        lag, lag_s = 0, 0.0
        for (topic, partition), offset in self.next.items():
            positions.setdefault(topic, {})[str(partition)] = offset
            _, high = self.client.get_watermark_offsets(TopicPartition(topic, partition), cached=True)
            if high > max(OFFSET_INVALID, offset):
                lag += high - offset
                lag_s = max(lag_s, time.time() - self.written_ms.get((topic, partition), time.time() * 1e3) / 1e3)
        return {"ready": self.ready, "seen": self.seen, "lag": lag, "lag_s": round(lag_s, 3), "positions": positions}

    def leave(self) -> None:
        """Leave the group."""
        try:
            self.client.close()
        except KafkaException as error:
            print(f"leaving the group: {error}", file=sys.stderr)

    def read_all(self) -> None:
        """The witness: from the beginning of each partition to its present end."""
        parts = [
            TopicPartition(topic, number, OFFSET_BEGINNING)
            for topic in self.order["topics"]
            for number in self.client.list_topics(topic, timeout=10).topics[topic].partitions
        ]
        ends = {(part.topic, part.partition): self.client.get_watermark_offsets(part, timeout=10) for part in parts}
        self.client.assign(parts)
        wanted = {part: high for part, (low, high) in ends.items() if high > low}
        self.next = {part: low for part, (low, _) in ends.items()}
        while any(self._position(part) < high for part, high in wanted.items()) and not self.agent.stopping:
            self.take(POLL_S)
            tend(self.agent, [self])
        finish(self.agent, [self])

    def _position(self, part: tuple[str, int]) -> int:
        """Where the client stands, which moves past transaction markers and compacted records as well."""
        (found,) = self.client.position([TopicPartition(*part)])
        return max(found.offset, self.next.get(part, 0))


def report(agent: Agent, readings: Sequence[Reading], done: bool = False) -> None:
    """The gauge of all of them together; where several read one partition, what the slowest of them has read."""
    gauges = [reading.gauge() for reading in readings]
    positions: dict[str, dict[str, int]] = {}
    for gauge in gauges:
        for topic, parts in gauge["positions"].items():
            known = positions.setdefault(topic, {})
            known.update({part: min(offset, known.get(part, offset)) for part, offset in parts.items()})
    counts = {"seen": sum(gauge["seen"] for gauge in gauges), "lag": sum(gauge["lag"] for gauge in gauges)}
    lag_s = max(gauge["lag_s"] for gauge in gauges)
    agent.report(ready=all(gauge["ready"] for gauge in gauges), done=done, **counts, lag_s=lag_s, positions=positions)


def tend(agent: Agent, readings: Sequence[Reading]) -> None:
    """Serve the ledger and the gauge."""
    for reading in readings:
        reading.flush_if_due()
    if agent.report_is_due():
        report(agent, readings)


def follow(agent: Agent, readings: Sequence[Reading], wait_s: float = POLL_S) -> None:
    """Members of a group: read until told to stop."""
    for reading in readings:
        reading.join()
    first, *others = readings
    while not agent.stopping:
        for reading in others:
            reading.take(0)
        first.take(min(wait_s, POLL_S_OF_MANY) if others else wait_s)
        tend(agent, readings)
    finish(agent, readings)


def finish(agent: Agent, readings: Sequence[Reading]) -> None:
    """Keep what was noted and leave the group."""
    for reading in readings:
        reading.flush()
        for table in reading.tables():
            table.close()
    report(agent, readings, done=True)
    for reading in readings:
        reading.leave()


def readings_of(agent: Agent, order: dict[str, Any]) -> list[Reading]:
    """Every consumer with its client, made in the network of its host: the client's own threads stay there."""
    found = []
    for asked in order["consumers"]:
        if asked["host"]:
            host_network.enter(asked["host"])
        own = {"consumer": asked["name"], "group": asked["group"], "client": {**order["client"], **asked["client"]}}
        found.append(Reading(agent, {**order, **own}))
    return found


def main(order: dict[str, Any]) -> None:
    """Read until told to stop."""
    agent = Agent()
    agent.gate("servers")
    readings = readings_of(agent, order)
    if order["consumers"][0]["group"]:
        follow(agent, readings)
    else:
        readings[0].read_all()


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
