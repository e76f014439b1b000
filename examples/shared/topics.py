"""A topic from its first record to its last, read once: for programs that compare."""

from __future__ import annotations

from dataclasses import dataclass

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

SILENCE_S = 30
"""A broker that says nothing for this long is given up."""


@dataclass(frozen=True, kw_only=True)
class Record:
    """A record as it lies in the log."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: dict[str, bytes]

    @property
    def place(self) -> str:
        """Where it lies, as keys of dead letters have it."""
        return f"{self.topic}/{self.partition}/{self.offset}"


def records_of(bootstrap: str, topic: str) -> list[Record]:
    """Every record that the topic has now."""
    settings = {"bootstrap.servers": bootstrap, "group.id": "audit", "enable.auto.commit": False}
    consumer = Consumer({**settings, "enable.partition.eof": True})
    partitions = consumer.list_topics(topic, SILENCE_S).topics[topic].partitions
    consumer.assign([TopicPartition(topic, partition, 0) for partition in partitions])
    records, unread = [], set(partitions)
    while unread:
        message = consumer.poll(SILENCE_S)
        if message is None:
            raise SystemExit(f"{topic}: nothing came for {SILENCE_S} s")
        error = message.error()
        if error is None:
            records.append(_record(message))
        elif error.code() == KafkaError._PARTITION_EOF:
            unread.discard(message.partition())
        else:
            raise KafkaException(error)
    consumer.close()
    return records


def _record(message) -> Record:  # type: ignore[no-untyped-def]
    return Record(
        topic=message.topic(),
        partition=message.partition(),
        offset=message.offset(),
        key=message.key(),
        value=message.value(),
        headers=dict(message.headers() or ()),
    )
