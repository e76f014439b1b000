"""A topic as arrays of numbers: what was sent, what the log holds, what each group read.

    record  a number for each record: its row in `Sends`, in the order of producer and sequence.
            Records that were read and have no row in the ledger `sent` come after them.
    place   partition << 40 | offset
    index   position of a place in the log, which is sorted by place. Offsets have holes: markers of
            transactions, aborted and compacted records. Neighbours have neighbouring indexes.

Names are looked up for offenders only: `Topic.name_of(record)`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from pyarrow import compute

from streambed.judge.columns import (
    NONE,
    Bools,
    Int8s,
    Int16s,
    Int32s,
    Int64s,
    Names,
    RunIndex,
    batches_of_topic,
    numbers,
)
from streambed.record.history import Ledger

OFFSET_BITS = 40
OFFSET_MASK = (1 << OFFSET_BITS) - 1
SEQUENCE_BITS = 44
SEQUENCE_MAX = 1 << SEQUENCE_BITS


@dataclass(frozen=True, kw_only=True)
class Sends:
    """The rows of `sent` of a topic, sorted by producer and sequence: row number = record."""

    producer: Int32s
    """By number: `Topic.clients`."""
    sequence: Int64s
    place: Int64s
    """Where the broker stored it; NONE if the client does not know."""
    outcome: Int8s
    """`record.ledger.schemas.Outcome`"""
    life: Int16s
    transaction: Int32s
    """Its number in `Topic.transactions`; NONE outside of transactions."""
    rows: Int64s | None
    """Their rows in the topic's part of the table `sent`; None if it is sorted already."""

    def __len__(self) -> int:
        return len(self.sequence)


@dataclass(frozen=True, kw_only=True)
class Reads:
    """What one group, or one read-back, read of a topic. Rows of a client's life are in order."""

    record: Int32s
    """NONE if it carries no identity."""
    place: Int64s
    """NONE if the reader knows no offsets."""
    time: Int64s
    """When the poll returned that it was in."""
    tenure: Int32s
    """Its number in `Topic.tenures`; NONE if no assignment was recorded."""
    transaction: Int32s
    """The reader's transaction; NONE outside of transactions."""
    client: Int32s
    """The life of a client: its number in `Topic.client_lives`."""

    def __len__(self) -> int:
        return len(self.place)


@dataclass(frozen=True, kw_only=True)
class Log:
    """The log of a topic, sorted by place."""

    place: Int64s
    record: Int32s
    read_back: bool = True
    """False: the topic was not read back; these are the places of acks and reads."""
    began: int = NONE
    """When the read-back began."""

    def __len__(self) -> int:
        return len(self.place)

    @cached_property
    def distinct(self) -> Log:
        """The log with one row per place, so that neighbouring places have neighbouring indexes."""
        again = self.place[1:] == self.place[:-1]
        if not again.any():
            return self
        once = np.append(True, ~again)
        return replace(self, place=self.place[once], record=self.record[once])

    @cached_property
    def _runs(self) -> RunIndex:
        return RunIndex(self.place)

    def index_of(self, places: Int64s) -> Int64s:
        """The index of each place; NONE if the log has nothing there."""
        return self._runs.rows(places)

    def between(self, first: Int64s, past: Int64s) -> Int64s:
        """How many records the log has from each place `first` to `past`, without `past`."""
        counts: Int64s = np.searchsorted(self.place, past) - np.searchsorted(self.place, first)
        return counts


@dataclass(frozen=True, kw_only=True)
class Tenures:
    """How long a client's life held a partition, one row each; sorted by when they began."""

    group: Int32s
    client: Int32s
    """The life of a client: its number in `Topic.client_lives`."""
    partition: Int64s
    began: Int64s
    start: Int64s
    """The offset of its first position; NONE if unknown."""
    origin: Int32s
    """`Topic.words`: committed, earliest, latest or all."""
    ended: Int64s
    """NONE if it was killed, or held it until the run ended."""
    resets: Int64s
    """How often the client jumped, because its position was not in the log."""

    def __len__(self) -> int:
        return len(self.start)


@dataclass(frozen=True, kw_only=True)
class Commits:
    """Offsets that groups committed, sorted by time. Refused ones are left out."""

    group: Int32s
    client: Int32s
    partition: Int64s
    offset: Int64s
    time: Int64s

    def __len__(self) -> int:
        return len(self.offset)


@dataclass(frozen=True, kw_only=True)
class Transactions:
    """Transactions of all clients that sent to the topic, or read it inside of one."""

    client: Int32s
    life: Int16s
    number: Int32s
    outcome: Int8s

    def __len__(self) -> int:
        return len(self.outcome)


@dataclass(frozen=True, kw_only=True)
class Strangers:
    """Records that were read and are not in the topic's part of `sent`."""

    producer: Int32s
    sequence: Int64s

    def __len__(self) -> int:
        return len(self.sequence)


@dataclass(frozen=True, kw_only=True)
class Topic:
    """All numbers of a topic."""

    name: str
    sends: Sends
    reads: dict[str, Reads]
    """By group; read-backs are not among them."""
    committed: Log | None
    """As the witness read it back, committed records only; None if it did not."""
    uncommitted: Log | None
    """As the second witness read it back, with aborted records; None if it did not."""
    tenures: Tenures
    commits: Commits
    transactions: Transactions
    clients: Names
    groups: Names
    words: Names
    client_lives: list[tuple[int, int]]
    """A client and its life, for each number in `Reads.client`."""
    first_of_life: dict[tuple[int, int], int]
    """The first sequence that each life of a producer may send, by client and life."""
    strangers: Strangers
    ledger: Ledger = field(repr=False)

    @property
    def record_count(self) -> int:
        """How many numbers of records there are."""
        return len(self.sends) + len(self.strangers)

    def identity(self, record: int) -> tuple[str, int]:
        """The producer and the sequence of a record."""
        if record < len(self.sends):
            producer, sequence = self.sends.producer[record], self.sends.sequence[record]
            return self.clients.words[producer], int(sequence)
        row = record - len(self.sends)
        producer, sequence = self.strangers.producer[row], self.strangers.sequence[row]
        return self.clients.words[producer], int(sequence)

    def name_of(self, record: int) -> str:
        """A record for people: poet=17."""
        if record == NONE:
            return "a record without identity"
        producer, sequence = self.identity(record)
        return f"{producer}={sequence}"

    def life_of(self, client: int) -> tuple[str, int]:
        """The name of a client and its life, by its number in `client_lives`."""
        number, life = self.client_lives[client]
        return self.clients.words[number], life

    def members(self) -> list[tuple[str, str]]:
        """Each group that read the topic with each of its clients."""
        pairs = []
        for group, reads in self.reads.items():
            lives = np.flatnonzero(np.bincount(reads.client, minlength=1))
            names = [self.life_of(int(client))[0] for client in lives if len(reads)]
            pairs += [(group, name) for name in dict.fromkeys(names)]
        return pairs

    def counts(self, records: Int32s) -> Int64s:
        """How often each record of the topic occurs in an array of records."""
        identified = records[records >= 0] if len(records) and records.min() < 0 else records
        return np.bincount(identified, minlength=self.record_count)

    @cached_property
    def acked(self) -> Bools:
        """Whether each send was acknowledged; with acks=0 or 1 that promises little."""
        parts = [np.empty(0, bool)]
        for batch in batches_of_topic(self.ledger, "sent", self.name, ("acked",)):
            parts.append(np.asarray(compute.is_valid(batch.column(0))))
        acked = np.concatenate(parts)
        return acked if self.sends.rows is None else acked[self.sends.rows]

    @cached_property
    def due(self) -> Int64s:
        """When each send was due."""
        parts = [np.empty(0, np.int64)]
        for batch in batches_of_topic(self.ledger, "sent", self.name, ("due",)):
            parts.append(numbers(batch.column(0), np.int64))
        due = np.concatenate(parts)
        return due if self.sends.rows is None else due[self.sends.rows]

    @cached_property
    def in_log(self) -> Int64s:
        """How often the read-back of committed records has each record; zeros without one."""
        if self.committed is None:
            return np.zeros(self.record_count, np.int64)
        return self.counts(self.committed.record)


def place_of(partition: int, offset: int) -> int:
    """A partition and an offset as one number."""
    return partition << OFFSET_BITS | offset


def places(partitions: Int32s | Int64s, offsets: Int64s) -> Int64s:
    """`place_of` for arrays; NONE where the offset is unknown."""
    joined = partitions.astype(np.int64)
    joined <<= OFFSET_BITS
    joined |= offsets & OFFSET_MASK
    joined[(offsets < 0) | (partitions < 0)] = NONE
    return joined


def place_text(place: int) -> str:
    """A place for people: partition 0, offset 17."""
    if place == NONE:
        return "an unknown place"
    return f"{place >> OFFSET_BITS}/{place & OFFSET_MASK}"
