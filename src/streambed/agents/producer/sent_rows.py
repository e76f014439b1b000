"""The ledger of a producer agent: a row for each decided record, cheap at full rate.

Acknowledged records come as columns, many at once, and are written as columns.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from streambed.record import now_ns
from streambed.record.tables import FLUSH_NS, Table

Numbers = NDArray[np.int64]
AT_ONCE = 20_000
"""Rows that cause an early write: memory for more would be allocated and freed each time."""


class Acked(NamedTuple):
    """Acknowledged records of one producer as columns; topics are numbers."""

    sequence: Numbers
    topic: Numbers
    partition: NDArray[np.int32] | Numbers
    offset: Numbers
    due: Numbers
    sent: Numbers


class SentRows:
    """The rows of all producers of an agent in one file; names are numbers until written."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._acked: list[tuple[int, int, Acked]] = []
        """Producer, when they were acknowledged, and the records."""
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

    def acked(self, producer: int, records: Acked, *, at_ns: int) -> None:
        """Add records that were acknowledged at `at_ns`."""
        if len(records.sequence):
            self._acked.append((producer, at_ns, records))
            self._held += len(records.sequence)
        if self._held >= AT_ONCE:
            self.flush()

    def lost(self, producer: int, sequence: int, topic: int, due: int, sent: int, why: str) -> None:
        """Add a failed record."""
        self.lost_one(
            self._words[producer], sequence, self._words[topic], due=due, sent=sent, why=why
        )

    def acked_one(
        self,
        producer: str,
        sequence: int,
        topic: str,
        *,
        due: int,
        sent: int,
        partition: int = -1,
        offset: int = -1,
    ) -> None:
        """Add a record that was acknowledged now; partition and offset are -1 if there are none."""
        self._table.append(producer, sequence, topic, partition, offset, due, sent, now_ns(), None)

    def lost_one(
        self, producer: str, sequence: int, topic: str, *, due: int, sent: int, why: str
    ) -> None:
        """Add a failed record, by names."""
        self._table.append(producer, sequence, topic, None, None, due, sent, None, why)

    def flush_if_due(self) -> None:
        """Write if a second has passed since the last time."""
        if now_ns() - self._flushed_ns >= FLUSH_NS:
            self.flush()

    def flush(self) -> None:
        """Write all rows and hand them over to the kernel."""
        self._flushed_ns = now_ns()
        if self._acked:
            self._write_acked()
        self._table.flush()

    def _write_acked(self) -> None:
        producers, times, parts = zip(*self._acked, strict=True)
        self._acked, self._held = [], 0
        counts = [len(part.sequence) for part in parts]
        records = Acked(*(np.concatenate(column) for column in zip(*parts, strict=True)))
        self._table.append_columns(
            self._name_column(np.repeat(producers, counts)),
            pa.array(records.sequence),
            self._name_column(records.topic),
            pa.array(records.partition.astype(np.int32, copy=False)),
            pa.array(records.offset),
            pa.array(records.due),
            pa.array(records.sent),
            pa.array(np.repeat(times, counts)),
            self._constant_column(None, len(records.sequence)),
        )

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
        self._table.close()
