"""A ledger in the form of a Jepsen history: operations in EDN, one per line.

A send outside of transactions is an operation `:send`, a poll is `:poll`, a transaction with all
its sends and polls is `:txn`. `:assign` names the partitions that a client holds, `:crash` ends a
life of a client. Keys are partitions, values are names of records.

In Jepsen a process does one thing at a time. A producer has many records in flight, so that it is
as many processes as it takes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
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


def history_lines(ledger: Ledger) -> Iterator[str]:
    """The operations of a ledger by time, each as its invocation and its completion."""
    operations = [*_sends_and_polls(ledger), *_assignments(ledger), *_crashes(ledger)]
    processes = _Processes()
    entries: list[tuple[int, int, str]] = []
    for number, one in enumerate(sorted(operations, key=lambda one: (one.began, one.ended))):
        process = processes.take(one)
        asked = f"[{' '.join(one.asked)}]"
        entries.append((one.began, 2 * number, _entry(process, "invoke", one.f, asked)))
        value = f"[{' '.join(one.value)}]"
        entries.append((one.ended, 2 * number + 1, _entry(process, one.type, one.f, value)))
    for index, (time, _, entry) in enumerate(sorted(entries)):
        yield f"{{:index {index}, :time {time}, {entry}}}"


def _entry(process: int, kind: str, f: str, value: str) -> str:
    return f":process {process}, :type :{kind}, :f :{f}, :value {value}"


class _Processes:
    """Numbers of processes. One that does not know how an operation ended is never used again."""

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
    transactions = {
        (row["producer"], row["life"], row["transaction"]): row
        for row in ledger.transactions.iter_rows(named=True)
    }
    inside: dict[tuple[str, int, int], list[tuple[int, str, str]]] = {}
    for row in ledger.sent.iter_rows(named=True):
        key, name = _key(row), _text(f"{row['producer']}={row['sequence']}")
        placed = row["offset"] is not None and row["offset"] >= 0
        value = f"[:send {key} [{row['offset']} {name}]]" if placed else f"[:send {key} {name}]"
        asked = f"[:send {key} {name}]"
        began = row["due"] if row["sent"] is None else row["sent"]
        if row["transaction"] is not None:
            transaction = (row["producer"], _life(row), row["transaction"])
            inside.setdefault(transaction, []).append((began, asked, value))
            continue
        ended = began if row["acked"] is None else row["acked"]
        yield _Operation(
            client=(row["producer"], _life(row)), f="send", began=began, ended=ended,
            type=_type(row["outcome"]), value=[value], asked=[asked],
        )  # fmt: skip
    for poll in _polls(ledger):
        if poll.transaction is None:
            yield _Operation(
                client=poll.client, f="poll", began=poll.time, ended=poll.time,
                value=[poll.text], asked=["[:poll]"],
            )  # fmt: skip
        else:
            transaction = (*poll.client, poll.transaction)
            inside.setdefault(transaction, []).append((poll.time, "[:poll]", poll.text))
    for transaction, parts in inside.items():
        yield _transaction(transaction, parts, transactions.get(transaction))


def _transaction(
    name: tuple[str, int, int], parts: list[tuple[int, str, str]], row: dict[str, Any] | None
) -> _Operation:
    parts.sort()
    began, last = parts[0][0], parts[-1][0]
    ended = max(last, row["ended"] or 0) if row else last
    return _Operation(
        client=name[:2],
        f="txn",
        began=began,
        ended=ended,
        type=_type(row["outcome"] if row else None),
        value=[value for _, _, value in parts],
        asked=[asked for _, asked, _ in parts],
    )


@dataclass(frozen=True, kw_only=True)
class _Poll:
    client: tuple[str, int]
    time: int
    transaction: int | None
    text: str


def _polls(ledger: Ledger) -> Iterator[_Poll]:
    """The polls of all consumers; read-backs are none of theirs."""
    own = ~pl.col("consumer").is_in([WITNESS, WITNESS_UNCOMMITTED])
    rows = ledger.seen.filter(own & pl.col("producer").is_not_null())
    for (consumer, life, seen), polled in rows.group_by(
        "consumer", "life", "seen", maintain_order=True
    ):
        keys: dict[str, list[str]] = {}
        for row in polled.iter_rows(named=True):
            name = _text(f"{row['producer']}={row['sequence']}")
            keys.setdefault(_key(row), []).append(f"[{row['offset']} {name}]")
        records = ", ".join(f"{key} [{' '.join(found)}]" for key, found in keys.items())
        yield _Poll(
            client=(str(consumer), int(life or 1)),
            time=int(seen),
            transaction=polled["transaction"][0],
            text=f"[:poll {{{records}}}]",
        )


def _assignments(ledger: Ledger) -> Iterator[_Operation]:
    """What a client holds after each change of it."""
    held: dict[tuple[str, int], dict[str, None]] = {}
    own = ledger.assignments.filter(~pl.col("consumer").is_in([WITNESS, WITNESS_UNCOMMITTED]))
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


def _life(row: dict[str, Any]) -> int:
    return int(row["life"] or 1)


def _type(outcome: int | None) -> str:
    return "info" if outcome is None else TYPES.get(Outcome(outcome), "info")


def _text(word: str) -> str:
    """A string in EDN, which is written as in JSON."""
    return json.dumps(word, ensure_ascii=False)
