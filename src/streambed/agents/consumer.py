"""Consumer agent: notes when it saw each record. Without a group it is the witness, which reads all there is once."""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, OFFSET_INVALID, Consumer, KafkaException, Message, TopicPartition

from streambed.agents.agent import Agent
from streambed.agents.sender import IDENTITY
from streambed.record import now_ns
from streambed.tables import KEPT, SEEN, Table

ASK_S = 10
BATCH = 1000
POLL_S = 0.1


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


class Reading:
    """One consumer and what it has seen."""

    def __init__(self, agent: Agent, order: dict[str, Any]) -> None:
        self.agent = agent
        self.order = order
        self.client = Consumer({**order["client"], "log_level": 4})
        self.table = agent.table("seen", SEEN) if order["ledger"] else None
        self.kept = agent.table("kept", KEPT) if order["keep"] else None
        self.seen = 0
        self.next: dict[tuple[str, int], int] = {}
        self.written_ms: dict[tuple[str, int], int] = {}
        """When the last record that was read from each partition was written, by the wall clock."""
        self.ready = False

    def assigned(self, client: Consumer, parts: list[TopicPartition]) -> None:
        """Asked until it is answered where to start: just after a host was cut off, its old connections are deaf for a while."""
        while not self.agent.stopping:
            try:
                client.assign([self._start(client, part) for part in client.committed(parts, timeout=ASK_S)])
                self.ready = True
                return
            except KafkaException as error:
                print(f"where to start: {error}", file=sys.stderr)

    def _start(self, client: Consumer, committed: TopicPartition) -> TopicPartition:
        """Where the group left off, or a stated offset: a position that is known is one that can be compared."""
        if committed.error:
            raise KafkaException(committed.error)
        low, high = client.get_watermark_offsets(committed, timeout=ASK_S)
        fresh = high if self.order["client"].get("auto.offset.reset") == "latest" else low
        offset = committed.offset if committed.offset >= 0 else fresh
        self.next[committed.topic, committed.partition] = offset
        return TopicPartition(committed.topic, committed.partition, offset)

    def revoked(self, client: Consumer, parts: list[TopicPartition]) -> None:
        """Partitions that moved to another member are no longer ours to count."""
        for part in parts:
            self.next.pop((part.topic, part.partition), None)

    def take(self) -> None:
        """Read what has come and note it."""
        messages = self.receive()
        self.note(messages)
        if not messages:
            self.pass_markers()

    def receive(self, wait_s: float = POLL_S) -> list[Message]:
        """The records that come within a moment."""
        received = self.client.consume(BATCH, wait_s)
        good = [message for message in received if message.error() is None]
        if len(good) < len(received):
            for error in filter(None, (message.error() for message in received)):
                print(error, file=sys.stderr)  # librdkafka goes on by itself; what was missed shows as lag.
        return good

    def note(self, messages: list[Message]) -> None:
        """Keep when each was seen, and how far this has come."""
        if self.table or self.kept:
            for message in messages:
                self._note_one(message)
        newest = {(message.topic(), message.partition()): message for message in messages}
        for message in newest.values():
            topic, partition, offset = where(message)
            self.next[topic, partition] = offset + 1
            self.written_ms[topic, partition] = message.timestamp()[1]
        self.seen += len(messages)
        for table in self.tables():
            table.flush_if_due()
        if self.agent.report_is_due():
            self.report()

    def _note_one(self, message: Message) -> None:
        name, place = self.order["consumer"], where(message)
        if self.table:
            self.table.append(name, self.order["group"], *place, *identity(message), now_ns(), message.timestamp()[1])
        if self.kept:
            self.kept.append(name, *place, message.key(), message.value())

    def pass_markers(self) -> None:
        """Having read all there is, stand behind what no reader is given: the ends of transactions, and what was aborted."""
        self.next = {part: self._position(part) for part in self.next}

    def tables(self) -> list[Table]:
        """Its files in the history."""
        return [table for table in (self.table, self.kept) if table]

    def report(self, done: bool = False) -> None:
        """The gauge: what was seen, how far each partition was read, how much is left."""
        positions: dict[str, dict[str, int]] = {}
        lag, lag_s = 0, 0.0
        for (topic, partition), offset in self.next.items():
            positions.setdefault(topic, {})[str(partition)] = offset
            _, high = self.client.get_watermark_offsets(TopicPartition(topic, partition), cached=True)
            if high > max(OFFSET_INVALID, offset):
                lag += high - offset
                lag_s = max(lag_s, time.time() - self.written_ms.get((topic, partition), time.time() * 1e3) / 1e3)
        self.agent.report(ready=self.ready, done=done, seen=self.seen, lag=lag, lag_s=round(lag_s, 3), positions=positions)

    def follow(self) -> None:
        """A member of a group: read until told to stop."""
        self.client.subscribe(self.order["topics"], on_assign=self.assigned, on_revoke=self.revoked)
        while not self.agent.stopping:
            self.take()
        self.finish()

    def finish(self) -> None:
        """Keep what was noted and leave the group."""
        for table in self.tables():
            table.close()
        self.report(done=True)
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
        while any(self._position(part) < high for part, high in wanted.items()) and not self.agent.stopping:
            self.take()
        self.finish()

    def _position(self, part: tuple[str, int]) -> int:
        """Where the client stands, which moves past transaction markers and compacted records as well."""
        (found,) = self.client.position([TopicPartition(*part)])
        return max(found.offset, self.next.get(part, 0))


def main(order: dict[str, Any]) -> None:
    """Read until told to stop."""
    agent = Agent()
    agent.gate("servers")
    reading = Reading(agent, order)
    if order["group"]:
        reading.follow()
    else:
        reading.read_all()


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
