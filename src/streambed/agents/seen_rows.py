"""The rows of `seen`, made from the records of many polls at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from streambed.agents.reader import ReadColumns
from streambed.agents.record_identity import parse_identities
from streambed.agents.tenures import Tenures
from streambed.record.orders import ConsumerMember
from streambed.record.tables import NO_KEY, KeyHashes, Table

AT_ONCE = 20_000
"""Rows that cause an early write."""


class SeenRows:
    """The rows of one reader: columns in memory until they are written."""

    def __init__(
        self, table: Table, member: ConsumerMember, *, life: int, tenures: Tenures
    ) -> None:
        self._table = table
        self._member = member
        self._life = life
        self._tenures = tenures
        self._hashes = KeyHashes()
        self._forget()

    def _forget(self) -> None:
        self._held = ReadColumns([], [], [], [], [], [])
        self._held_tenures: list[int | None] = []
        self._polls: list[tuple[int, int]] = []
        """The time of each poll, and how many records it returned."""

    def add(
        self, records: ReadColumns, seen_ns: int, tenures: Sequence[int | None] | None = None
    ) -> None:
        """Add a row for each record of a poll, in order, with the tenure that it was read in:
        default, the one that holds now.
        """
        for held, column in zip(self._held, records, strict=True):
            held.extend(column)  # type: ignore[attr-defined]
        if tenures is None:
            tenures = self._tenures_of(records.topics, records.partitions)
        self._held_tenures += tenures
        self._polls.append((seen_ns, len(records.offsets)))
        if len(self._held.offsets) >= AT_ONCE:
            self._write()

    def _tenures_of(self, topics: Sequence[str], partitions: Sequence[int]) -> list[int | None]:
        """The tenure of each record, as it is now: soon another may have begun."""
        topic = topics[0]
        if topics.count(topic) == len(topics):
            by_partition = {each: self._tenures.number((topic, each)) for each in set(partitions)}
            return list(map(by_partition.__getitem__, partitions))
        parts = list(zip(topics, partitions, strict=True))
        by_part = {part: self._tenures.number(part) for part in set(parts)}
        return list(map(by_part.__getitem__, parts))

    def flush(self) -> None:
        """Write all rows and hand them over to the kernel."""
        if self._polls:
            self._write()
        self._table.flush()

    def close(self) -> None:
        """Write what is left and close the file."""
        self.flush()
        self._table.close()

    def _write(self) -> None:
        records, count = self._held, len(self._held.offsets)
        producers, sequences = parse_identities(records.identities)
        times, counts = zip(*self._polls, strict=True)
        self._table.append_columns(
            _constant(self._member.name, count),
            _constant(self._member.group, count),
            _words(records.topics),
            pa.array(records.partitions, pa.int32()),
            pa.array(records.offsets, pa.int64()),
            _words(producers),
            pa.array(sequences, pa.int64()),
            pa.array(np.repeat(np.array(times, np.int64), counts)),
            pa.array(records.timestamps_ms, pa.int64()),
            self._key_column(records.keys),
            pa.array(np.full(count, self._life, np.int16)),
            pa.array(self._held_tenures, pa.int32()),
            pa.nulls(count, pa.int32()),
        )
        self._forget()

    def _key_column(self, keys: Sequence[bytes | None]) -> pa.Array:
        if keys.count(None) == len(keys):
            return pa.nulls(len(keys), pa.int64())
        hashes = np.fromiter(map(self._hashes.__getitem__, keys), np.int64, len(keys))
        return pa.array(hashes, mask=hashes == NO_KEY)


def _constant(word: str, count: int) -> pa.Array:
    return pa.repeat(pa.scalar(word, pa.string()), count)


def _words(words: Sequence[str | None]) -> pa.Array:
    """A column of words; they are often all the same."""
    first = words[0]
    if first is not None and words.count(first) == len(words):
        return _constant(first, len(words))
    return pa.array(words, pa.string())
