"""The files of a cluster's brokers as tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from operator import itemgetter
from pathlib import Path
from typing import Any

import pyarrow as pa

from streambed.kinds.components.kafka.log_files.internal_topics import (
    METADATA_FOLDER,
    group_commits,
    leaderships,
    transaction_states,
)
from streambed.kinds.components.kafka.log_files.record_batches import RecordBatch, batches_in
from streambed.kinds.components.kafka.log_files.records import Cursor, records_of
from streambed.record.ledger import schemas

MARKERS = {0: "abort", 1: "commit"}


def tables_of(
    logs: Mapping[str, Path], numbers: Mapping[int, str], topics: Mapping[str, int]
) -> dict[str, pa.Table]:
    """The tables of a cluster.

    `logs` are the log folders by node, `numbers` the nodes by broker id, `topics` the partitions of
    each topic that is read.
    """
    folders = {node: log for node, log in logs.items() if log.is_dir()}
    if not folders:
        return {}
    return {
        "log_batches": _table(schemas.LOG_BATCHES, _batch_rows(folders, topics)),
        "leaders": _table(schemas.LEADERS, _leader_rows(folders, numbers, topics)),
        "group_commits": _table(schemas.GROUP_COMMITS, _commit_rows(folders)),
        "transaction_states": _table(schemas.TRANSACTION_STATES, _state_rows(folders)),
    }


def _table(schema: pa.Schema, rows: Iterable[tuple[Any, ...]]) -> pa.Table:
    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    arrays = [pa.array(values, kind) for values, kind in zip(columns, schema.types, strict=True)]
    return pa.table(arrays, schema=schema)


def _batch_rows(
    folders: Mapping[str, Path], topics: Mapping[str, int]
) -> Iterator[tuple[Any, ...]]:
    for node, log in folders.items():
        for topic, partitions in topics.items():
            for partition in range(partitions):
                for batch in batches_in(log / f"{topic}-{partition}"):
                    yield (node, topic, partition, *_batch_values(batch))


def _batch_values(batch: RecordBatch) -> tuple[Any, ...]:
    return (
        batch.first,
        batch.last,
        batch.epoch,
        batch.checksum,
        batch.records,
        batch.producer_id,
        batch.producer_epoch,
        batch.transactional,
        _marker(batch),
        batch.last_timestamp_ms,
    )


def _marker(batch: RecordBatch) -> str | None:
    if not (batch.control and batch.transactional):
        return None
    key = Cursor(next(records_of(batch)).key or b"")
    key.int16()  # The version.
    return MARKERS.get(key.int16())


def _leader_rows(
    folders: Mapping[str, Path], numbers: Mapping[int, str], topics: Mapping[str, int]
) -> Iterator[tuple[Any, ...]]:
    """From the longest copy of the metadata: all copies agree as far as they go."""
    log = max(folders.values(), key=lambda folder: _size(folder / METADATA_FOLDER))
    for state in leaderships(log):
        if state.topic in topics:
            leader = numbers.get(state.leader, "")
            in_sync = [numbers.get(number, str(number)) for number in state.in_sync]
            position = state.topic, state.partition, state.epoch
            yield (*position, leader, in_sync, state.timestamp_ms)


def _commit_rows(folders: Mapping[str, Path]) -> list[tuple[Any, ...]]:
    return _without_replicas(
        (commit.group, commit.topic, commit.partition, commit.offset, commit.timestamp_ms)
        for log in folders.values()
        for commit in group_commits(log)
    )


def _state_rows(folders: Mapping[str, Path]) -> list[tuple[Any, ...]]:
    return _without_replicas(
        (
            state.transactional_id,
            state.producer_id,
            state.producer_epoch,
            state.state,
            state.timestamp_ms,
        )
        for log in folders.values()
        for state in transaction_states(log)
    )


def _without_replicas(rows: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Rows that replicas hold several times, once each, by time."""
    return sorted(dict.fromkeys(rows), key=itemgetter(-1))


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.glob("*.log"))
