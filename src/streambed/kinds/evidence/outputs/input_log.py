"""A topic as the witness read it back: the reference for everything that was made of it.

All columns are numbers, one value per record, in the order of partition and offset. The *index* of
a record is its row: offsets have holes, indexes have none.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from streambed.judge import arrays
from streambed.judge.arrays import Topic
from streambed.judge.columns import Names, RunIndex, batches_of_topic, numbers
from streambed.judge.reading import topic_of
from streambed.kinds.evidence.outputs.deleted import Deleted, deleted_records
from streambed.kinds.evidence.readers import witness_of
from streambed.plan import WITNESS
from streambed.record.history import History, Ledger

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
ELSEWHERE = -3
"""Names a record of another topic."""


@dataclass(frozen=True, kw_only=True)
class InputLog:
    """The visible records of a topic after the drain."""

    topic: str
    places: Numbers
    """Partition and offset in one number, rising."""
    records: Numbers
    """Producer and sequence in one number; UNNAMED without identity."""
    producers: tuple[str, ...]
    """Names by the number of a producer in `records`."""
    ledger: Ledger = field(repr=False)
    deleted: Deleted | None = None
    """Records that were deleted before the read-back, which are in the log, too."""

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

    @cached_property
    def keys(self) -> Numbers:
        """Hash of the key of each record; 0 without a key. Few checks need it."""
        hashes = np.zeros(len(self), np.int64)
        columns = ("consumer", "partition", "offset", "key")
        consumers = Names()
        for batch in batches_of_topic(self.ledger, "seen", self.topic, columns):
            consumer, partition, offset, key = batch.columns
            by_witness = consumers.encode(consumer) == consumers.known(WITNESS)
            if not by_witness.any():
                continue
            places = arrays.places(numbers(partition, np.int32), numbers(offset, np.int64))
            rows = self.index_of_places(places[by_witness])
            hashes[rows] = numbers(key, np.int64, null=0)[by_witness]
        if self.deleted is not None:
            hashes[self.index_of_places(self.deleted.places)] = self.deleted.keys
        return hashes

    def index_of_places(self, places: Numbers) -> Numbers:
        """The index of each place; ABSENT if the log has nothing there."""
        return self._places.rows(places)

    def index_of_records(self, records: Numbers) -> Numbers:
        """The index at which each record first occurs; ABSENT if it is missing."""
        rows = self._identities.rows(records)
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
    def _identities(self) -> RunIndex:
        return RunIndex(self.records[self._record_order])

    @cached_property
    def _places(self) -> RunIndex:
        return RunIndex(self.places)

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
    """The topic as the witness read it back, with what was deleted before; None if it did not, or
    not to the end.

    The last two are held, so that checks of one pipeline share them.
    """
    held: dict[str, InputLog | None] = history.ledger.derived.setdefault(CACHED, {})
    if topic not in held:
        while len(held) >= HELD_MAX:
            held.pop(next(iter(held)))
        held[topic] = _with_deleted(history, _read_log(history, topic))
    return held[topic]


def _with_deleted(history: History, log: InputLog | None) -> InputLog | None:
    """The log with records that producers wrote and that were deleted before the read-back."""
    deleted = deleted_records(history, log.topic) if log else None
    if log is None or deleted is None:
        return log
    producers = (*log.producers, *sorted(set(deleted.producers) - set(log.producers)))
    names, sequences = pl.Series(deleted.producers), pl.Series(deleted.sequences)
    places = np.concatenate([log.places, deleted.places])
    order = np.argsort(places, kind="stable")
    records = np.concatenate([log.records, records_of(names, sequences, producers)])
    return replace(
        log,
        places=places[order],
        records=records[order],
        producers=producers,
        deleted=deleted,
    )


def _read_log(history: History, name: str) -> InputLog | None:
    if not witness_of(history, name):
        return None
    topic = topic_of(history.ledger, name)
    if topic.committed is None:
        return None
    return InputLog(
        topic=name,
        places=topic.committed.place,
        records=identities_of(topic, topic.committed.record),
        producers=tuple(topic.clients.words),
        ledger=history.ledger,
    )


def identities_of(topic: Topic, records: NDArray[np.int32]) -> Numbers:
    """Records by number as producer and sequence in one number."""
    producers = np.concatenate([topic.sends.producer, topic.strangers.producer])
    sequences = np.concatenate([topic.sends.sequence, topic.strangers.sequence])
    identities = producers.astype(np.int64) << SEQUENCE_BITS | sequences
    # Records without identity have the number -1, which finds the last row here.
    return np.append(identities, UNNAMED)[records]
