"""A ledger in the form of a Jepsen history: operations in EDN, one per line.

A send outside of transactions is an operation `:send`, a poll is `:poll`, a transaction with all
its sends and polls is `:txn`. `:assign` names the partitions that a client holds, `:crash` ends a
life of a client. Keys are partitions, values are names of records.

A Jepsen process does one thing at a time. A producer has many records in flight, so it appears as
several processes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import polars as pl

from streambed.plan import WITNESS, WITNESS_UNCOMMITTED
from streambed.record.history import Ledger
from streambed.record.ledger.schemas import Outcome

TYPES = {Outcome.WRITTEN: "ok", Outcome.NOT_WRITTEN: "fail", Outcome.ABORTED: "fail"}
"""The type of a completion by outcome; all others are `info`: unknown."""


@dataclass(kw_only=True)
class _Operation:
    client: tuple[str, int]
    f: str
    began: int
    ended: int
    type: str = "ok"
    value: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    """The value of the invocation, which knows no offsets."""
    transaction: int | None = None
    """The transaction of its client that it is part of."""


def history_lines(ledger: Ledger) -> Iterator[str]:
    """The operations of a ledger by time, each as its invocation and its completion."""
    operations = [*_sends_and_polls(ledger), *_assignments(ledger), *_crashes(ledger)]
    processes = _Processes()
    entries: list[tuple[int, int, str]] = []
    operations.sort(key=lambda one: (one.began, one.ended))
    for number, one in enumerate(operations):
        process = processes.take(one)
        invocation = _entry(process, "invoke", one.f, one.asked)
        completion = _entry(process, one.type, one.f, one.value)
        entries.append((one.began, 2 * number, invocation))
        entries.append((one.ended, 2 * number + 1, completion))
    for index, (time, _, entry) in enumerate(sorted(entries)):
        yield f"{{:index {index}, :time {time}, {entry}}}"


def _entry(process: int, kind: str, f: str, value: list[str]) -> str:
    return f":process {process}, :type :{kind}, :f :{f}, :value [{' '.join(value)}]"


class _Processes:
    """Numbers of processes. One whose operation ended with `info` is never used again."""

    def __init__(self) -> None:
        self._free: dict[tuple[str, int], list[tuple[int, int]]] = {}
        self._count = 0

    def take(self, one: _Operation) -> int:
        own = self._free.setdefault(one.client, [])
        idle = next((entry for entry in own if entry[0] <= one.began), None)
        if idle is None:
            process, self._count = self._count, self._count + 1
        else:
            own.remove(idle)
            process = idle[1]
        if one.type != "info":
            own.append((one.ended, process))
        return process


def _sends_and_polls(ledger: Ledger) -> Iterator[_Operation]:
    """Every send and poll outside of transactions, then every transaction."""
    parts: dict[tuple[str, int, int], list[_Operation]] = {}
    for operation in chain(_sends(ledger), _polls(ledger)):
        if operation.transaction is None:
            yield operation
        else:
            transaction = (*operation.client, operation.transaction)
            parts.setdefault(transaction, []).append(operation)
    ends: dict[tuple[str, int, int], dict[str, Any]] = {}
    for row in ledger.transactions.iter_rows(named=True):
        ends[row["producer"], row["life"], row["transaction"]] = row
    for transaction, operations in parts.items():
        yield _transaction(operations, ends.get(transaction))


def _sends(ledger: Ledger) -> Iterator[_Operation]:
    for row in ledger.sent.iter_rows(named=True):
        key, name = _key(row), _record_name(row)
        asked = value = f"[:send {key} {name}]"
        if row["offset"] is not None and row["offset"] >= 0:
            value = f"[:send {key} [{row['offset']} {name}]]"
        began = row["due"] if row["sent"] is None else row["sent"]
        ended = began if row["acked"] is None else row["acked"]
        yield _Operation(
            client=(row["producer"], _life(row)),
            f="send",
            began=began,
            ended=ended,
            type=_type(row["outcome"]),
            value=[value],
            asked=[asked],
            transaction=row["transaction"],
        )


def _transaction(operations: list[_Operation], row: dict[str, Any] | None) -> _Operation:
    """The sends and polls of one transaction as one operation; `row` says how it ended."""
    operations.sort(key=lambda one: (one.began, one.asked, one.value))
    first, last = operations[0], operations[-1]
    ended = last.began
    outcome = None
    if row:
        ended = max(ended, row["ended"] or 0)
        outcome = row["outcome"]
    return _Operation(
        client=first.client,
        f="txn",
        began=first.began,
        ended=ended,
        type=_type(outcome),
        value=list(chain.from_iterable(one.value for one in operations)),
        asked=list(chain.from_iterable(one.asked for one in operations)),
    )


def _polls(ledger: Ledger) -> Iterator[_Operation]:
    """The polls of all consumers, without read-backs."""
    rows = _of_consumers(ledger.seen).filter(pl.col("producer").is_not_null())
    polls = rows.group_by("consumer", "life", "seen", maintain_order=True)
    for (consumer, life, seen), polled in polls:
        time = int(seen)
        yield _Operation(
            client=(str(consumer), int(life or 1)),
            f="poll",
            began=time,
            ended=time,
            value=[_poll_text(polled)],
            asked=["[:poll]"],
            transaction=polled["transaction"][0],
        )


def _poll_text(polled: pl.DataFrame) -> str:
    """The records that one poll returned, by partition."""
    records: dict[str, list[str]] = {}
    for row in polled.iter_rows(named=True):
        records.setdefault(_key(row), []).append(f"[{row['offset']} {_record_name(row)}]")
    partitions = [f"{key} [{' '.join(entries)}]" for key, entries in records.items()]
    return f"[:poll {{{', '.join(partitions)}}}]"


def _of_consumers(rows: pl.DataFrame) -> pl.DataFrame:
    """Leave out what streambed itself read back."""
    return rows.filter(~pl.col("consumer").is_in([WITNESS, WITNESS_UNCOMMITTED]))


def _assignments(ledger: Ledger) -> Iterator[_Operation]:
    """The partitions that a client holds after each change."""
    held: dict[tuple[str, int], dict[str, None]] = {}
    own = _of_consumers(ledger.assignments)
    for row in own.sort("time").iter_rows(named=True):
        client, key = (row["consumer"], _life(row)), _key(row)
        keys = held.setdefault(client, {})
        if row["change"] == "assigned":
            keys[key] = None
        elif row["change"] != "reset":
            keys.pop(key, None)
        names = list(keys)
        yield _Operation(
            client=client, f="assign", began=row["time"], ended=row["time"],
            value=names, asked=names,
        )  # fmt: skip


def _crashes(ledger: Ledger) -> Iterator[_Operation]:
    """A producer's life ends at the latest when its next one begins."""
    for row in ledger.lives.filter(pl.col("life") > 1).iter_rows(named=True):
        client = (row["client"], row["life"] - 1)
        yield _Operation(
            client=client, f="crash", began=row["began"], ended=row["began"], type="info"
        )


def _key(row: dict[str, Any]) -> str:
    return _text(f"{row['topic']}/{row['partition']}")


def _record_name(row: dict[str, Any]) -> str:
    return _text(f"{row['producer']}={row['sequence']}")


def _life(row: dict[str, Any]) -> int:
    return int(row["life"] or 1)


def _type(outcome: int | None) -> str:
    return "info" if outcome is None else TYPES.get(Outcome(outcome), "info")


def _text(word: str) -> str:
    """A string in EDN, which is written as in JSON."""
    return json.dumps(word, ensure_ascii=False)
