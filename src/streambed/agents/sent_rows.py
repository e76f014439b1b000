"""The ledger of a producer agent: a row for each record that is decided. It costs little while records flow at full rate.

A record that was acknowledged is eight numbers, packed at once; what is written is made of many of them, column by column.
"""

from __future__ import annotations

from struct import Struct

import numpy as np
import pyarrow as pa

from streambed.record import now_ns
from streambed.tables import FLUSH_NS, Table

COLUMNS = ("producer", "sequence", "topic", "partition", "offset", "due", "sent", "acked")
pack = Struct("=8q").pack
"""A record that was acknowledged: the numbers of `COLUMNS`."""
_ROW = np.dtype([(name, np.int64) for name in COLUMNS])


class SentRows:
    """Rows of one file, of all producers that an agent holds; producers and topics are numbers until they are written."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self.packed = bytearray()
        """Whoever learns of an acknowledgement adds it here by itself: a call for each record would be felt."""
        self._flushed_ns = now_ns()
        self._words: list[str] = []
        self._numbers: dict[str, int] = {}

    def number(self, word: str) -> int:
        """The number of a producer's or topic's name."""
        if word not in self._numbers:
            self._numbers[word] = len(self._words)
            self._words.append(word)
        return self._numbers[word]

    def lost(self, producer: int, sequence: int, topic: int, due: int, sent: int, why: str) -> None:
        """A record was given up."""
        self._table.append(self._words[producer], sequence, self._words[topic], None, None, due, sent, None, why)

    def flush_if_due(self) -> None:
        """Write if a second has passed since the last time."""
        if now_ns() - self._flushed_ns >= FLUSH_NS:
            self.flush()

    def flush(self) -> None:
        """Write what there is and hand it over to the kernel."""
        self._flushed_ns = now_ns()
        rows = np.frombuffer(bytes(self.packed), dtype=_ROW)
        self.packed.clear()
        if len(rows):
            words = pa.array(self._words, pa.string())
            named = {name: words.take(pa.array(rows[name])) for name in ("producer", "topic")}
            plain = {name: pa.array(rows[name]) for name in COLUMNS if name not in named}
            plain["partition"] = plain["partition"].cast(pa.int32())
            found = named | plain
            self._table.append_columns(*(found[name] for name in COLUMNS), pa.nulls(len(rows), pa.string()))
        self._table.flush()

    def close(self) -> None:
        """Write what is left and end the file."""
        self.flush()
        self._table.close()
