"""The small tables of the ledger as arrays: lives, tenures, commits and transactions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import polars as pl

from streambed.judge.arrays import Commits, Reads, Sends, Tenures, Transactions
from streambed.judge.columns import NONE, Int8s, Int32s, Int64s, Names
from streambed.record.history import Ledger
from streambed.record.ledger.schemas import Outcome

LIFE_BITS, NUMBER_BITS = 15, 32


class Numbering(Protocol):
    """Where the words of a topic have their numbers."""

    ledger: Ledger
    name: str
    clients: Names
    groups: Names
    words: Names
    lives: LifeNumbers


class LifeNumbers:
    """A number for each life of each client that reads."""

    def __init__(self) -> None:
        self.pairs: list[tuple[int, int]] = []
        self._numbers: dict[tuple[int, int], int] = {}

    def one(self, client: int, life: int) -> int:
        """The number of one life."""
        if (client, life) not in self._numbers:
            self._numbers[client, life] = len(self.pairs)
            self.pairs.append((client, life))
        return self._numbers[client, life]

    def number(self, clients: Int32s, lives: Int32s) -> Int32s:
        """The number of each row's life."""
        joined = (clients.astype(np.int64) << LIFE_BITS) | lives
        changes = np.flatnonzero(np.diff(joined, prepend=np.int64(NONE)))
        if len(changes) * 4 > len(joined):
            distinct, inverse = np.unique(joined, return_inverse=True)
            codes = [
                self.one(int(one) >> LIFE_BITS, int(one) % (1 << LIFE_BITS)) for one in distinct
            ]
            return np.array(codes, np.int32)[inverse]
        # Rows of one life come in long stretches, as it wrote them.
        codes = [self.one(int(clients[row]), int(lives[row])) for row in changes]
        lengths = np.diff(np.append(changes, len(joined)))
        return np.repeat(np.array(codes, np.int32), lengths)


@dataclass(frozen=True)
class TenureNumbers:
    """The tenures of a topic, and the number of the one under which a row was read."""

    table: Tenures
    keys: Int64s
    """Client life, tenure and partition as one number, sorted."""
    order: Int32s

    @staticmethod
    def read(names: Numbering) -> TenureNumbers:
        """Number the tenures of a topic by the table `assignments`."""
        rows = names.ledger.assignments.filter(pl.col("topic") == names.name)
        client = _client_lives(names, rows)
        rows = rows.with_columns(client_life=pl.Series(client, dtype=pl.Int32))
        table = _tenures_by_time(rows)
        keys = _tenure_keys(
            _array(table, "client_life", np.int64),
            _array(table, "tenure", np.int64),
            _array(table, "partition", np.int64),
        )
        order = np.argsort(keys, kind="stable")
        tenures = Tenures(
            group=_codes(names.groups, table["group"]),
            client=_array(table, "client_life", np.int32).astype(np.int32),
            partition=_array(table, "partition", np.int64),
            began=_array(table, "time", np.int64),
            start=_array(table, "offset", np.int64),
            origin=_codes(names.words, table["origin"]),
            ended=_array(table, "ended", np.int64),
            resets=_array(table, "resets", np.int64, null=0),
        )
        return TenureNumbers(tenures, keys[order], order.astype(np.int32))

    def number(self, client: Int32s, tenure: Int32s, partition: Int32s) -> Int32s:
        """The tenure of each row; NONE if it was not recorded."""
        if not len(self.keys) or not len(tenure) or int(tenure.max()) < 0:
            return np.full(len(tenure), NONE, np.int32)
        keys = _tenure_keys(client.astype(np.int64), tenure.astype(np.int64), partition)
        found = np.searchsorted(self.keys, keys)
        found[found == len(self.keys)] = 0
        return np.where(
            (self.keys[found] == keys) & (tenure >= 0), self.order[found], np.int32(NONE)
        )


def _tenures_by_time(rows: pl.DataFrame) -> pl.DataFrame:
    """A row for each tenure: its assignment, when it ended, and how often it was reset."""
    held = ["client_life", "tenure", "partition"]
    change = pl.col("change")
    assigned = rows.filter(change == "assigned")
    assigned = assigned.unique(held, keep="first", maintain_order=True)
    ends = rows.filter(change.is_in(["revoked", "lost", "closed"]))
    ends = ends.group_by(held).agg(ended=pl.col("time").max())
    resets = rows.filter(change == "reset").group_by(held).agg(resets=pl.len())
    table = assigned.join(ends, on=held, how="left", maintain_order="left")
    table = table.join(resets, on=held, how="left", maintain_order="left")
    return table.sort("time", maintain_order=True)


def _tenure_keys(client: Int64s, tenure: Int64s, partition: Int64s | Int32s) -> Int64s:
    keys: Int64s = (client << 48) | (np.maximum(tenure, 0) << 20) | partition
    return keys


def commits_of(names: Numbering) -> Commits:
    """The commits that the broker accepted, by time."""
    rows = names.ledger.commits.filter(
        (pl.col("topic") == names.name) & pl.col("error").is_null()
    ).sort("time", maintain_order=True)
    return Commits(
        group=_codes(names.groups, rows["group"]),
        client=np.array(_client_lives(names, rows), np.int32),
        partition=_array(rows, "partition", np.int64),
        offset=_array(rows, "offset", np.int64),
        time=_array(rows, "time", np.int64),
    )


def _client_lives(names: Numbering, rows: pl.DataFrame) -> list[int]:
    pairs = zip(rows["consumer"], rows["life"].fill_null(0), strict=True)
    return [names.lives.one(names.clients.number(client), life) for client, life in pairs]


def _codes(words: Names, column: pl.Series) -> Int32s:
    return np.array([NONE if word is None else words.number(word) for word in column], np.int32)


def _array(rows: pl.DataFrame, column: str, kind: type[np.generic], null: int = NONE) -> Int64s:
    return rows[column].cast(pl.Int64).fill_null(null).to_numpy().astype(kind)


def first_sequences(names: Numbering) -> dict[tuple[int, int], int]:
    """The first sequence of each life of each producer."""
    rows = names.ledger.lives.select("client", "life", "first").iter_rows()
    return {(names.clients.number(client), life): first or 0 for client, life, first in rows}


def number_transactions(
    names: Numbering, sends: Sends, reads: dict[str, Reads]
) -> tuple[Sends, dict[str, Reads], Transactions]:
    """Give each transaction of each life a number in place of the one that its client counted."""
    sent_keys = _keys_of_sends(sends)
    read_keys = {group: _keys_of_reads(names, rows) for group, rows in reads.items()}
    keys = np.empty(0, np.int64)
    for part in (sent_keys, *read_keys.values()):
        if part is not None:
            keys = np.union1d(keys, part[part >= 0])
    transactions = Transactions(
        client=(keys >> (LIFE_BITS + NUMBER_BITS)).astype(np.int32),
        life=((keys >> NUMBER_BITS) % (1 << LIFE_BITS)).astype(np.int16),
        number=(keys % (1 << NUMBER_BITS)).astype(np.int32),
        outcome=_outcomes_of(names, keys),
    )
    if sent_keys is not None:
        sends = replace(sends, transaction=_numbers_of(keys, sent_keys))
    for group, read in read_keys.items():
        if read is not None:
            reads[group] = replace(reads[group], transaction=_numbers_of(keys, read))
    return sends, reads, transactions


def _outcomes_of(names: Numbering, keys: Int64s) -> Int8s:
    """The outcome of each transaction; UNKNOWN if its client recorded none."""
    table = names.ledger.transactions
    clients = _codes(names.clients, table["producer"]).astype(np.int64)
    lives, numbers = _array(table, "life", np.int64), _array(table, "transaction", np.int64)
    recorded = _keys(clients, lives, numbers)
    outcomes = _array(table, "outcome", np.int8, null=int(Outcome.UNKNOWN)).astype(np.int8)
    at = np.searchsorted(keys, recorded)
    inside = at < len(keys)
    inside[inside] = keys[at[inside]] == recorded[inside]
    outcome = np.full(len(keys), int(Outcome.UNKNOWN), np.int8)
    outcome[at[inside]] = outcomes[inside]
    return outcome


def _keys(client: Int64s, life: Int64s, transaction: Int64s) -> Int64s:
    joined: Int64s = (client << (LIFE_BITS + NUMBER_BITS)) | (life << NUMBER_BITS) | transaction
    joined[transaction < 0] = NONE
    return joined


def _keys_of_sends(sends: Sends) -> Int64s | None:
    if not len(sends) or int(sends.transaction.max()) < 0:
        return None
    return _keys(
        sends.producer.astype(np.int64),
        sends.life.astype(np.int64),
        sends.transaction.astype(np.int64),
    )


def _keys_of_reads(names: Numbering, reads: Reads) -> Int64s | None:
    if not len(reads) or int(reads.transaction.max()) < 0:
        return None
    pairs = np.array(names.lives.pairs, np.int64)[reads.client]
    return _keys(pairs[:, 0], pairs[:, 1], reads.transaction.astype(np.int64))


def _numbers_of(keys: Int64s, wanted: Int64s) -> Int32s:
    return np.where(wanted < 0, NONE, np.searchsorted(keys, wanted)).astype(np.int32)
