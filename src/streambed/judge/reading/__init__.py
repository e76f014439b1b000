"""Read a topic out of the ledger into arrays: one pass over `sent`, one over `seen`."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import polars as pl
import pyarrow as pa
from pyarrow import compute

from streambed.judge.arrays import Log, Reads, Sends, Strangers, Topic, places
from streambed.judge.columns import (
    NONE,
    Bools,
    Int8s,
    Int32s,
    Int64s,
    Names,
    Numbers,
    Rows,
    batches_of_topic,
    holds_one_value,
    numbers,
)
from streambed.judge.reading.identities import Identities, sort_keys
from streambed.judge.reading.small_tables import (
    LifeNumbers,
    TenureNumbers,
    commits_of,
    first_sequences,
    number_transactions,
)
from streambed.plan import WITNESS, WITNESS_UNCOMMITTED
from streambed.record.history import Ledger
from streambed.record.ledger.schemas import Outcome

SENT_COLUMNS = ("producer", "sequence", "partition", "offset", "outcome", "life", "transaction")
SEEN_COLUMNS = (
    "consumer",
    "group",
    "partition",
    "offset",
    "producer",
    "sequence",
    "seen",
    "life",
    "tenure",
    "transaction",
)
UNMATCHED = -2
"""Stands for the first record that was read and not sent; the next is one less."""


def topic_of(ledger: Ledger, name: str) -> Topic:
    """The arrays of a topic. Only those of the topic that was last asked for are held."""
    held: Topic | None = ledger.derived.get("topic")
    if held is None or held.name != name:
        ledger.derived.pop("topic", None)
        held = _Reading(ledger, name).topic()
        ledger.derived["topic"] = held
    return held


@dataclass
class _Stream:
    """What one group or one read-back read, while it is collected."""

    rows: Rows = field(
        default_factory=lambda: Rows(
            record=np.int32,
            place=np.int64,
            time=np.int64,
            tenure=np.int32,
            transaction=np.int32,
            client=np.int32,
        )
    )


class _Reading:
    """Reads one topic."""

    def __init__(self, ledger: Ledger, name: str) -> None:
        self.ledger = ledger
        self.name = name
        self.clients, self.groups, self.words = Names(), Names(), Names()
        self.lives = LifeNumbers()
        self.streams: dict[str, _Stream] = {}
        self.unmatched = Rows(producer=np.int32, sequence=np.int64)
        self.unmatched_count = 0

    def topic(self) -> Topic:
        sends, identities = self._sends()
        tenures = TenureNumbers.read(self)
        self._read_seen(identities, tenures)
        strangers, stranger_numbers = self._strangers(len(sends))
        reads = {
            label: _reads(stream.rows, stranger_numbers) for label, stream in self.streams.items()
        }
        # The order of numbers is that of the ledger: read-backs come last in a run.
        logs = {label: _log(reads.pop(label)) for label in _READ_BACKS if label in reads}
        sends, reads, transactions = number_transactions(self, sends, reads)
        return Topic(
            name=self.name,
            sends=sends,
            reads={self.groups.words[int(label)]: found for label, found in reads.items()},
            committed=logs.get(WITNESS) or self._empty_log(WITNESS),
            uncommitted=logs.get(WITNESS_UNCOMMITTED) or self._empty_log(WITNESS_UNCOMMITTED),
            tenures=tenures.table,
            commits=commits_of(self),
            transactions=transactions,
            clients=self.clients,
            groups=self.groups,
            words=self.words,
            client_lives=self.lives.pairs,
            first_of_life=first_sequences(self),
            strangers=strangers,
            ledger=self.ledger,
        )

    def _empty_log(self, witness: str) -> Log | None:
        """The log if a witness read the topic back and found nothing; None if it did not."""
        rows = self.ledger.assignments.filter(
            (pl.col("consumer") == witness) & (pl.col("topic") == self.name)
        )
        if rows.is_empty():
            return None
        nothing = np.empty(0, np.int64)
        return Log(place=nothing, record=nothing.astype(np.int32), began=rows["time"].to_list()[0])

    def _sends(self) -> tuple[Sends, Identities]:
        rows = self._read_sent()
        producers, sequences = rows.take("producer"), rows.take("sequence")
        keys, least = sort_keys(producers, sequences)
        order = None
        if not bool((keys[1:] > keys[:-1]).all()):
            order = np.argsort(keys, kind="stable")
        outcomes = self._outcomes(rows.take("outcome"))
        sends = Sends(
            producer=_in_order(producers, order),
            sequence=_in_order(sequences, order),
            place=_in_order(rows.take("place"), order),
            outcome=_in_order(outcomes, order),
            life=_in_order(rows.take("life"), order),
            transaction=_in_order(rows.take("transaction"), order),
            rows=order,
        )
        return sends, Identities(_in_order(keys, order), least)

    def _read_sent(self) -> Rows:
        """The sends of the ledger, in its order."""
        rows = Rows(
            producer=np.int32,
            sequence=np.int64,
            place=np.int64,
            outcome=np.int8,
            life=np.int16,
            transaction=np.int32,
        )
        for batch in batches_of_topic(self.ledger, "sent", self.name, SENT_COLUMNS):
            producer, sequence, partition, offset, outcome, life, transaction = batch.columns
            rows.add(
                producer=self.clients.encode(producer),
                sequence=numbers(sequence, np.int64),
                place=places(numbers(partition, np.int32), numbers(offset, np.int64)),
                outcome=numbers(outcome, np.int8),
                life=numbers(life, np.int16, null=0),
                transaction=numbers(transaction, np.int32),
            )
        return rows

    def _outcomes(self, outcome: Int8s) -> Int8s:
        """Fill in the outcomes of older runs, which have none: acked with an offset is written."""
        missing = outcome < 0
        if not missing.any():
            return outcome
        parts = []
        for batch in batches_of_topic(self.ledger, "sent", self.name, ("acked", "offset")):
            acked = np.asarray(compute.is_valid(batch.column(0)))
            has_offset = numbers(batch.column(1), np.int64) >= 0
            parts.append(acked & has_offset)
        written = np.concatenate(parts)
        inferred = np.where(written, Outcome.WRITTEN, Outcome.UNKNOWN).astype(np.int8)
        return np.where(missing, inferred, outcome)

    def _read_seen(self, identities: Identities, tenures: TenureNumbers) -> None:
        for batch in batches_of_topic(self.ledger, "seen", self.name, SEEN_COLUMNS):
            consumer, group, partition, offset, producer, sequence, *rest = batch.columns
            seen, life, tenure, transaction = rest
            clients = self.clients.encode(consumer)
            groups = self.groups.encode(group)
            partitions = numbers(partition, np.int32)
            client_life = self.lives.number(clients, numbers(life, np.int32, null=0))
            columns: dict[str, Numbers] = {
                "record": self._records(identities, producer, sequence),
                "place": places(partitions, numbers(offset, np.int64)),
                "time": numbers(seen, np.int64),
                "tenure": tenures.number(client_life, numbers(tenure, np.int32), partitions),
                "transaction": numbers(transaction, np.int32),
                "client": client_life,
            }
            for label, chosen in self._labels(clients, groups):
                stream = self.streams.setdefault(label, _Stream())
                stream.rows.add(**{name: column[chosen] for name, column in columns.items()})

    def _labels(self, clients: Int32s, groups: Int32s) -> list[tuple[str, Bools | slice]]:
        """The streams that a batch belongs to, with their rows."""
        codes = groups.copy()
        special = {}
        for number, label in enumerate(_READ_BACKS):
            client = self.clients.known(label)
            if client != NONE:
                code = len(self.groups) + number
                codes[clients == client] = code
                special[code] = label
        present = np.flatnonzero(np.bincount(codes + 1)) - 1
        labels = [special.get(int(code), str(int(code))) for code in present]
        if len(present) == 1:
            return [(labels[0], slice(None))]
        return [(label, codes == code) for label, code in zip(labels, present, strict=True)]

    def _records(
        self, identities: Identities, producer: pa.DictionaryArray, sequence: pa.Array
    ) -> Int32s:
        producers = self.clients.encode(producer)
        sequences = numbers(sequence, np.int64)
        records = identities.rows(producers, sequences)
        unmatched = np.flatnonzero((records == NONE) & (producers != NONE))
        if len(unmatched):
            first = UNMATCHED - self.unmatched_count
            records[unmatched] = first - np.arange(len(unmatched), dtype=np.int32)
            self.unmatched.add(producer=producers[unmatched], sequence=sequences[unmatched])
            self.unmatched_count += len(unmatched)
        return records

    def _strangers(self, sent: int) -> tuple[Strangers, Int32s]:
        """Each record that was read and not sent once, and the number of each unmatched row."""
        producers = self.unmatched.take("producer")
        sequences = self.unmatched.take("sequence")
        keys, _ = sort_keys(producers, sequences)
        _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
        strangers = Strangers(producer=producers[first], sequence=sequences[first])
        return strangers, (inverse + sent).astype(np.int32)


_READ_BACKS = (WITNESS, WITNESS_UNCOMMITTED)


def _in_order(column: Numbers, order: Int64s | None) -> Numbers:
    return column if order is None or holds_one_value(column) else column[order]


def _reads(rows: Rows, stranger_numbers: Int32s) -> Reads:
    record = rows.take("record")
    if holds_one_value(record):
        record = record.copy()
    unmatched = record <= UNMATCHED
    if unmatched.any():
        record[unmatched] = stranger_numbers[UNMATCHED - record[unmatched]]
    return Reads(
        record=record,
        place=rows.take("place"),
        time=rows.take("time"),
        tenure=rows.take("tenure"),
        transaction=rows.take("transaction"),
        client=rows.take("client"),
    )


def _log(reads: Reads) -> Log:
    """A read-back as a log: sorted by place, each row once."""
    place, record = reads.place, reads.record
    known = place >= 0
    if not known.all():
        place, record = place[known], record[known]
    if not bool((place[1:] > place[:-1]).all()):
        order = np.lexsort((record, place))
        place, record = place[order], record[order]
        again = (place[1:] == place[:-1]) & (record[1:] == record[:-1])
        once = np.append(True, ~again) if len(place) else np.empty(0, bool)
        place, record = place[once], record[once]
    began = int(reads.time.min()) if len(reads) else NONE
    return Log(place=place, record=record, began=began)
