"""The ledger of a producer agent: a row for each record that is decided. It costs little while
records flow at full rate.

Records that were acknowledged come as columns, many at once, and so they are written.
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
"""So many rows are written before a second has passed: the memory of more would be fetched from the
kernel and given back each time.
"""


class Acked(NamedTuple):
    """Records of one producer that were acknowledged, as columns; topics are numbers."""

    sequence: Numbers
    topic: Numbers
    partition: NDArray[np.int32] | Numbers
    offset: Numbers
    due: Numbers
    sent: Numbers


class SentRows:
    """Rows of one file, of all producers that an agent holds; producers and topics are numbers
    until they are written.
    """

    def __init__(self, table: Table) -> None:
        self._table = table
        self._acked: list[tuple[int, int, Acked]] = []
        """Producer, when they were acknowledged, and the records."""
        self._held = 0
        self._flushed_ns = now_ns()
        self._words: list[str] = []
        self._numbers: dict[str, int] = {}
        self._columns: dict[str | None, pa.Array] = {}
        self._repeated(
            None, AT_ONCE
        )  # Arrow loads what it needs when it is first asked: now, not while records flow.

    def number(self, word: str) -> int:
        """The number of a producer's or topic's name."""
        if word not in self._numbers:
            self._numbers[word] = len(self._words)
            self._words.append(word)
        return self._numbers[word]

    def acked(self, producer: int, records: Acked, *, at_ns: int) -> None:
        """Records were acknowledged at that time."""
        if len(records.sequence):
            self._acked.append((producer, at_ns, records))
            self._held += len(records.sequence)
        if self._held >= AT_ONCE:
            self.flush()

    def lost(self, producer: int, sequence: int, topic: int, due: int, sent: int, why: str) -> None:
        """A record was given up."""
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
        """One record was acknowledged just now; without partitions or offsets they are -1."""
        self._table.append(producer, sequence, topic, partition, offset, due, sent, now_ns(), None)

    def lost_one(
        self, producer: str, sequence: int, topic: str, *, due: int, sent: int, why: str
    ) -> None:
        """One record was given up."""
        self._table.append(producer, sequence, topic, None, None, due, sent, None, why)

    def flush_if_due(self) -> None:
        """Write if a second has passed since the last time."""
        if now_ns() - self._flushed_ns >= FLUSH_NS:
            self.flush()

    def flush(self) -> None:
        """Write what there is and hand it over to the kernel."""
        self._flushed_ns = now_ns()
        if self._acked:
            self._write_acked()
        self._table.flush()

    def _write_acked(self) -> None:
        producers, times, parts = zip(*self._acked, strict=True)
        self._acked, self._held = [], 0
        counts = [len(part.sequence) for part in parts]
        found = Acked(*(np.concatenate(column) for column in zip(*parts, strict=True)))
        self._table.append_columns(
            self._named(np.repeat(producers, counts)),
            pa.array(found.sequence),
            self._named(found.topic),
            pa.array(found.partition.astype(np.int32, copy=False)),
            pa.array(found.offset),
            pa.array(found.due),
            pa.array(found.sent),
            pa.array(np.repeat(times, counts)),
            self._repeated(None, len(found.sequence)),
        )

    def _named(self, numbers: Numbers) -> pa.Array:
        """Without Arrow's own functions: to load them takes a while, and records flow."""
        if (numbers == numbers[0]).all():
            return self._repeated(self._words[numbers[0]], len(numbers))
        return pa.array([self._words[number] for number in numbers.tolist()], pa.string())

    def _repeated(self, word: str | None, count: int) -> pa.Array:
        """A column of one word or of none, which is made only if none as long was made before."""
        if word not in self._columns or len(self._columns[word]) < count:
            self._columns[word] = pa.repeat(pa.scalar(word, pa.string()), count)
        return self._columns[word][:count]

    def close(self) -> None:
        """Write what is left and end the file."""
        self.flush()
        self._table.close()
