"""What Kafka keeps in its internal topics: commits of groups, states of transactions, leaders."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from streambed.kinds.components.kafka.log_files.record_batches import batches_in
from streambed.kinds.components.kafka.log_files.records import Cursor, Record, records_of

OFFSETS_TOPIC, TRANSACTIONS_TOPIC = "__consumer_offsets", "__transaction_state"
METADATA_FOLDER = "__cluster_metadata-0"
OFFSET_COMMIT_KEYS = (0, 1)
TOPIC_RECORD, PARTITION_RECORD, PARTITION_CHANGE_RECORD = 2, 3, 5
IN_SYNC_TAG, LEADER_TAG = 0, 1
UUID_BYTES = 16
TRANSACTION_STATES = (
    "empty",
    "ongoing",
    "preparing commit",
    "preparing abort",
    "committed",
    "aborted",
    "dead",
    "fencing",
)


@dataclass(frozen=True, kw_only=True)
class GroupCommit:
    """A group committed an offset of a partition."""

    group: str
    topic: str
    partition: int
    offset: int
    timestamp_ms: int


@dataclass(frozen=True, kw_only=True)
class TransactionState:
    """A transaction coordinator recorded a state of a transactional producer."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    state: str
    timestamp_ms: int


@dataclass(frozen=True, kw_only=True)
class Leadership:
    """The controllers gave a partition a leader, or changed who is in sync."""

    topic: str
    partition: int
    epoch: int
    leader: int
    """The number of the broker; -1: there is no leader."""
    in_sync: tuple[int, ...]
    timestamp_ms: int


def _records(folder: Path) -> Iterator[Record]:
    for batch in batches_in(folder, bodies=True):
        if not (batch.control or batch.compressed):
            yield from records_of(batch)


def group_commits(log: Path) -> Iterator[GroupCommit]:
    """The commits in one broker's log folder."""
    for folder in sorted(log.glob(f"{OFFSETS_TOPIC}-*")):
        for record in _records(folder):
            if record.key is None or record.value is None:
                continue
            key = Cursor(record.key)
            if key.int16() not in OFFSET_COMMIT_KEYS:
                continue
            group, topic, partition = key.text(), key.text(), key.int32()
            value = Cursor(record.value)
            value.int16()  # The version: the offset comes first in all of them.
            yield GroupCommit(
                group=group,
                topic=topic,
                partition=partition,
                offset=value.int64(),
                timestamp_ms=record.timestamp_ms,
            )


def transaction_states(log: Path) -> Iterator[TransactionState]:
    """The states of transactions in one broker's log folder."""
    for folder in sorted(log.glob(f"{TRANSACTIONS_TOPIC}-*")):
        for record in _records(folder):
            if record.key is None or record.value is None:
                continue
            key, value = Cursor(record.key), Cursor(record.value)
            key.int16()
            value.int16()  # These fields come first in all versions.
            producer_id, epoch, _, state = (
                value.int64(),
                value.int16(),
                value.int32(),
                value.int8(),
            )
            yield TransactionState(
                transactional_id=key.text(),
                producer_id=producer_id,
                producer_epoch=epoch,
                state=TRANSACTION_STATES[state] if state < len(TRANSACTION_STATES) else str(state),
                timestamp_ms=record.timestamp_ms,
            )


def leaderships(log: Path) -> Iterator[Leadership]:
    """The history of leaders in one controller's copy of the cluster's metadata."""
    topics: dict[bytes, str] = {}
    current: dict[tuple[bytes, int], Leadership] = {}
    for record in _records(log / METADATA_FOLDER):
        if record.value is None:
            continue
        value = Cursor(record.value)
        value.unsigned_varint()  # The version of the frame.
        kind, version = value.unsigned_varint(), value.unsigned_varint()
        if kind == TOPIC_RECORD:
            name = value.compact_text()
            topics[value.take(UUID_BYTES)] = name
        elif kind in (PARTITION_RECORD, PARTITION_CHANGE_RECORD):
            partition, topic = value.int32(), value.take(UUID_BYTES)
            if kind == PARTITION_RECORD:
                state = _new_leadership(value, topics.get(topic, ""), partition, version)
            else:
                state = _changed_leadership(value, current[topic, partition])
            state = replace(state, timestamp_ms=record.timestamp_ms)
            current[topic, partition] = state
            yield state


def _new_leadership(value: Cursor, topic: str, partition: int, version: int) -> Leadership:
    value.compact_int32s()  # Replicas.
    in_sync = value.compact_int32s()
    value.compact_int32s()  # Replicas that are being removed,
    value.compact_int32s()  # and added.
    leader, epoch = value.int32(), value.int32()
    return Leadership(
        topic=topic,
        partition=partition,
        epoch=epoch,
        leader=leader,
        in_sync=in_sync,
        timestamp_ms=0,
    )


def _changed_leadership(value: Cursor, before: Leadership) -> Leadership:
    """A change that names a leader, the old one or another, raises the epoch."""
    fields = value.tagged()
    after = before
    if IN_SYNC_TAG in fields:
        after = replace(after, in_sync=Cursor(fields[IN_SYNC_TAG]).compact_int32s())
    if LEADER_TAG in fields:
        leader = Cursor(fields[LEADER_TAG]).int32()
        after = replace(after, leader=leader, epoch=before.epoch + 1)
    return after
