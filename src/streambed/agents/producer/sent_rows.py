"""The ledger of a producer agent: a row for each decided record, cheap at full rate.

Acknowledged records come as columns, many at once, and are written as columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from streambed.record import now_ns
from streambed.record.ledger.schemas import Outcome
from streambed.record.tables import FLUSH_NS, NO_KEY, Table, key_hash

Numbers = NDArray[np.int64]
AT_ONCE = 20_000
"""Rows that cause an early write: memory for more would be allocated and freed each time."""


class Acked(NamedTuple):
    """Acknowledged records of one producer as columns; topics are numbers, keys are hashes."""

    sequence: Numbers
    topic: Numbers
    partition: NDArray[np.int32] | Numbers
    offset: Numbers
    due: Numbers
    sent: Numbers
    key: Numbers


class Ended(NamedTuple):
    """A transaction that is over, as far as its producer knows."""

    number: int
    began: int
    ended: int
    outcome: Outcome
    error: str


class SentRows:
    """The rows of all producers of an agent in one file; names are numbers until written."""

    def __init__(self, table: Table, *, life: int = 1, transactions: Table | None = None) -> None:
        self._table = table
        self._transactions = transactions
        self._life = life
        self._acked: list[tuple[int, int, int, int, Acked]] = []
        """Producer, when they were acknowledged, outcome, transaction (0: none), the records."""
        self._held = 0
        self._flushed_ns = now_ns()
        self._words: list[str] = []
        self._numbers: dict[str, int] = {}
        self._columns: dict[str | None, pa.Array] = {}
        # Arrow loads code on first use: do it now, not while records flow.
        self._constant_column(None, AT_ONCE)

    def number(self, word: str) -> int:
        """The number of a producer's or topic's name."""
        if word not in self._numbers:
            self._numbers[word] = len(self._words)
            self._words.append(word)
        return self._numbers[word]

    def acked(
        self,
        producer: int,
        records: Acked,
        *,
        at_ns: int,
        outcome: Outcome = Outcome.WRITTEN,
        transaction: int = 0,
    ) -> None:
        """Add records that were acknowledged at `at_ns`; `transaction` is 0 outside of one."""
        if len(records.sequence):
            self._acked.append((producer, at_ns, outcome, transaction, records))
            self._held += len(records.sequence)
        if self._held >= AT_ONCE:
            self.flush()

    def lost(
        self,
        producer: int,
        sequence: int,
        topic: int,
        *,
        due: int,
        sent: int,
        key: int,
        why: str,
        outcome: Outcome = Outcome.UNKNOWN,
        position: tuple[int, int] | None = None,
        transaction: int = 0,
    ) -> None:
        """Add a failed record; `key` is the hash of its key, or NO_KEY.

        `position` is partition and offset, if it was written and then aborted.
        """
        names = self._words[producer], sequence, self._words[topic]
        times = due, sent, None
        ending = outcome, self._life, transaction or None
        self._table.append(*names, *(position or (None, None)), *times, why, key or None, *ending)

    def ended(self, producer: int, transaction: Ended) -> None:
        """Add a transaction that is over."""
        assert self._transactions
        number, began, ended, outcome, error = transaction
        names = self._words[producer], self._life, number
        self._transactions.append(*names, began, ended, outcome, error or None)

    def acked_one(
        self,
        producer: str,
        sequence: int,
        topic: str,
        *,
        due: int,
        sent: int,
        key: bytes | None = None,
        partition: int = -1,
        offset: int = -1,
        outcome: Outcome = Outcome.WRITTEN,
    ) -> None:
        """Add a record that was acknowledged now; partition and offset are -1 if there are none."""
        position = topic, partition, offset
        times = due, sent, now_ns()
        ending = outcome, self._life, None
        self._table.append(producer, sequence, *position, *times, None, _hash(key), *ending)

    def lost_one(
        self,
        producer: str,
        sequence: int,
        topic: str,
        *,
        due: int,
        sent: int,
        why: str,
        key: bytes | None = None,
        outcome: Outcome = Outcome.UNKNOWN,
    ) -> None:
        """Add a failed record, by names."""
        times = due, sent, None
        ending = outcome, self._life, None
        self._table.append(producer, sequence, topic, None, None, *times, why, _hash(key), *ending)

    def flush_if_due(self) -> None:
        """Write if a second has passed since the last time."""
        if now_ns() - self._flushed_ns >= FLUSH_NS:
            self.flush()

    def flush(self) -> None:
        """Write all rows and hand them over to the kernel."""
        self._flushed_ns = now_ns()
        if self._acked:
            self._write_acked()
        for table in self._tables():
            table.flush()

    def _write_acked(self) -> None:
        producers, times, outcomes, transactions, parts = zip(*self._acked, strict=True)
        self._acked, self._held = [], 0
        counts = [len(part.sequence) for part in parts]
        records = _concatenate(parts)
        count = len(records.sequence)
        partitions = records.partition.astype(np.int32, copy=False)
        codes = np.repeat(np.array(outcomes, np.int8), counts)
        lives = np.full(count, self._life, np.int16)
        self._table.append_columns(
            self._name_column(np.repeat(producers, counts)),
            pa.array(records.sequence),
            self._name_column(records.topic),
            pa.array(partitions),
            pa.array(records.offset),
            pa.array(records.due),
            pa.array(records.sent),
            pa.array(np.repeat(times, counts)),
            self._constant_column(None, count),
            pa.array(records.key, mask=records.key == NO_KEY),
            pa.array(codes),
            pa.array(lives),
            _transaction_column(transactions, counts),
        )

    def _tables(self) -> list[Table]:
        """Its files; records come before the transactions that they are in."""
        return [table for table in (self._table, self._transactions) if table]

    def _name_column(self, numbers: Numbers) -> pa.Array:
        """Avoids Arrow's compute functions: they load slowly, while records flow."""
        if (numbers == numbers[0]).all():
            return self._constant_column(self._words[numbers[0]], len(numbers))
        return pa.array([self._words[number] for number in numbers.tolist()], pa.string())

    def _constant_column(self, word: str | None, count: int) -> pa.Array:
        """A column of one repeated word or of nulls, cut from a cached one if it is long enough."""
        if word not in self._columns or len(self._columns[word]) < count:
            self._columns[word] = pa.repeat(pa.scalar(word, pa.string()), count)
        return self._columns[word][:count]

    def close(self) -> None:
        """Write what is left and close the file."""
        self.flush()
        for table in self._tables():
            table.close()


def _concatenate(parts: Sequence[Acked]) -> Acked:
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    return Acked(*columns)


def _transaction_column(transactions: Sequence[int], counts: list[int]) -> pa.Array:
    """The number of each record's transaction; null where it is 0."""
    if not any(transactions):
        return pa.nulls(sum(counts), pa.int32())
    numbers = np.repeat(np.array(transactions, np.int32), counts)
    return pa.array(numbers, mask=numbers == 0)


def _hash(key: bytes | None) -> int | None:
    return None if key is None else key_hash(key)
