"""A topic as the witness read it back: the reference for everything that was made of it.

All columns are numbers, one value per record, in the order of partition and offset. The *index* of
a record is its row: offsets have holes, indexes have none.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from streambed.kinds.evidence.readers import witness_of
from streambed.plan import WITNESS
from streambed.record.history import History

Flags = NDArray[np.bool_]
Numbers = NDArray[np.int64]

OFFSET_BITS = 40
SEQUENCE_BITS = 44
CACHED = "input logs"
HELD_MAX = 2
ABSENT = -1
"""Names a record that the log does not have."""
UNNAMED = -2
"""Names no record at all."""


@dataclass(frozen=True, kw_only=True)
class InputLog:
    """The visible records of a topic after the drain."""

    topic: str
    places: Numbers
    """Partition and offset in one number, rising."""
    records: Numbers
    """Producer and sequence in one number; UNNAMED without identity."""
    keys: Numbers
    """Hash of the key; 0 without a key."""
    producers: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.places)

    @property
    def partitions(self) -> Numbers:
        """The partition of each record."""
        return self.places >> OFFSET_BITS

    @property
    def offsets(self) -> Numbers:
        """The offset of each record."""
        return self.places & ((1 << OFFSET_BITS) - 1)

    def index_of_places(self, places: Numbers) -> Numbers:
        """The index of each place; ABSENT if the log has nothing there."""
        return _lookup(self.places, places)

    def index_of_records(self, records: Numbers) -> Numbers:
        """The index at which each record first occurs; ABSENT if it is missing."""
        rows = _lookup(self._sorted_records, records)
        found = rows >= 0
        rows[found] = self._record_order[rows[found]]
        rows[records == UNNAMED] = UNNAMED
        return rows

    def times_in_log(self) -> Numbers:
        """How often the log has the record that first occurs at each index; 0 at its repetitions.

        Records without identity are all different.
        """
        first = self.index_of_records(self.records)
        unnamed = first == UNNAMED
        first[unnamed] = np.flatnonzero(unnamed)
        return np.bincount(first, minlength=len(self))

    @cached_property
    def _record_order(self) -> Numbers:
        return np.argsort(self.records, kind="stable")

    @cached_property
    def _sorted_records(self) -> Numbers:
        return self.records[self._record_order]

    def names(self, index: Numbers) -> pl.DataFrame:
        """Records by name and place: producer, sequence, partition, offset."""
        records = self.records[index]
        named = records != UNNAMED
        numbers = np.where(named, records >> SEQUENCE_BITS, len(self.producers))
        producers = pl.Series([*self.producers, None], dtype=pl.String)
        sequences = np.where(named, records & ((1 << SEQUENCE_BITS) - 1), -1)
        return pl.DataFrame(
            {
                "producer": producers.gather(numbers),
                "sequence": sequences,
                "partition": self.partitions[index],
                "offset": self.offsets[index],
            }
        )


def _lookup(rising: Numbers, wanted: Numbers) -> Numbers:
    """Where each wanted number first occurs; ABSENT if it does not."""
    if not len(rising):
        return np.full(len(wanted), ABSENT, dtype=np.int64)
    rows = np.searchsorted(rising, wanted).astype(np.int64)
    inside = np.minimum(rows, len(rising) - 1)
    return np.where(rising[inside] == wanted, inside, ABSENT)


def places_of(partitions: pl.Series, offsets: pl.Series) -> Numbers:
    """Partition and offset in one number; UNNAMED if one of them is missing."""
    return numbers_of((partitions.cast(pl.Int64) * (1 << OFFSET_BITS)) + offsets.cast(pl.Int64))


def records_of(producers: pl.Series, sequences: pl.Series, names: tuple[str, ...]) -> Numbers:
    """Producer and sequence in one number, by a list of producers; UNNAMED if one is missing.

    A producer that is not in the list gets a number after all others.
    """
    known = {name: number for number, name in enumerate(names)}
    codes = producers.replace_strict(known, default=len(names), return_dtype=pl.Int64)
    numbers = codes * (1 << SEQUENCE_BITS) + sequences.cast(pl.Int64)
    return numbers_of(pl.select(pl.when(producers.is_not_null()).then(numbers)).to_series())


def numbers_of(column: pl.Series) -> Numbers:
    """A column as numbers, UNNAMED for null."""
    return column.cast(pl.Int64).fill_null(UNNAMED).to_numpy()


def input_log(history: History, topic: str) -> InputLog | None:
    """The topic as the witness read it back; None if it did not, or not to the end.

    The last two are held, so that checks of one pipeline share them.
    """
    held: dict[str, InputLog | None] = history.ledger.derived.setdefault(CACHED, {})
    if topic not in held:
        while len(held) >= HELD_MAX:
            held.pop(next(iter(held)))
        held[topic] = _read_log(history, topic)
    return held[topic]


def _read_log(history: History, topic: str) -> InputLog | None:
    if not witness_of(history, topic):
        return None
    rows = history.ledger.seen.filter((pl.col("topic") == topic) & (pl.col("consumer") == WITNESS))
    places = places_of(rows["partition"], rows["offset"])
    order = np.argsort(places, kind="stable")
    producers = tuple(rows["producer"].drop_nulls().unique().sort())
    records = records_of(rows["producer"], rows["sequence"], producers)
    return InputLog(
        topic=topic,
        places=places[order],
        records=records[order],
        keys=rows["key"].fill_null(0).to_numpy()[order],
        producers=producers,
    )
