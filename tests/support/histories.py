"""Small histories written by hand: `history_of(acked("lines", "a=1"), seen("lines", "a=1"))`.

A record "a=1" is number 1 of producer a. Unless told otherwise it stands at offset 1 of partition 0
and was due in second 1. Times are in seconds since the run began.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

from streambed.kinds.declared_parts import components_of
from streambed.plan import WITNESS
from streambed.record import codec, tables
from streambed.record.events import EVENTS, Batch, DrainIncomplete, Event, Heal, Inject, Wait
from streambed.record.history import History, Ledger, empty
from streambed.record.ledger import schemas
from streambed.record.ledger.stored_rows import StoreQuery, StoreRows

WALL_NS = 1_700_000_000_000_000_000
"""What a wall clock showed when the run began."""


@dataclass(frozen=True)
class Sent:
    row: tuple[Any, ...]


@dataclass(frozen=True)
class Seen:
    row: tuple[Any, ...]


@dataclass(frozen=True)
class Kept:
    row: tuple[Any, ...]


@dataclass(frozen=True)
class Probed:
    row: tuple[Any, ...]


@dataclass(frozen=True)
class Stored:
    name: str
    rows: StoreRows


def ns(seconds: float) -> int:
    return round(seconds * 1e9)


def sent(
    topic: str,
    name: str,
    *,
    due: float | None = None,
    partition: int = 0,
    offset: int | None = None,
    acked_at: float | None = None,
    key: str = "",
) -> Sent:
    """A record that was sent, and acked only if `acked_at` says when."""
    producer, _, sequence = name.partition("=")
    due_ns = ns(float(sequence) if due is None else due)
    place = (topic, partition, int(sequence) if offset is None else offset)
    return Sent(
        (
            producer,
            int(sequence),
            *place,
            due_ns,
            due_ns,
            None if acked_at is None else ns(acked_at),
            None,
            hash_of(key),
        )
    )


def acked(
    topic: str,
    name: str,
    *,
    due: float | None = None,
    partition: int = 0,
    offset: int | None = None,
    key: str = "",
) -> Sent:
    """A record that was sent, and acked a tenth of a second after it was due."""
    begun = float(name.partition("=")[2]) if due is None else due
    return sent(
        topic, name, due=due, partition=partition, offset=offset, acked_at=begun + 0.1, key=key
    )


def seen(
    topic: str,
    name: str,
    *,
    by: str = "reader",
    group: str = "",
    at: float | None = None,
    partition: int = 0,
    offset: int | None = None,
    key: str = "",
) -> Seen:
    """A producer's record as a consumer saw it, a second after it was due."""
    producer, _, sequence = name.partition("=")
    seen_ns = ns(float(sequence) + 1 if at is None else at)
    place = (topic, partition, int(sequence) if offset is None else offset)
    return Seen(
        (
            by,
            group or by,
            *place,
            producer,
            int(sequence),
            seen_ns,
            (WALL_NS + seen_ns) // 1_000_000,
            hash_of(key),
        )
    )


def witnessed(topic: str, *names: str) -> list[Seen]:
    """What the witness read back."""
    return [seen(topic, name, by=WITNESS, at=1000) for name in names]


def output(
    topic: str,
    *,
    offset: int,
    written: float = 0,
    at: float,
    by: str = "reader",
    partition: int = 0,
    key: str = "",
) -> Seen:
    """A record that a job wrote, as a consumer saw it."""
    written_ms = (WALL_NS + ns(written)) // 1_000_000
    position = (topic, partition, offset)
    return Seen((by, by, *position, None, None, ns(at), written_ms, hash_of(key)))


def kept(topic: str, value: str, *, offset: int, partition: int = 0, key: str = "") -> Kept:
    """A record whose key and value the witness kept."""
    return Kept((WITNESS, topic, partition, offset, key.encode() or None, value.encode()))


def probed(store: str, text: str, at: float, batch: str | None, rows: int) -> Probed:
    """How many rows of a batch a probe found in a store."""
    name = StoreQuery(store=store, text=text).name
    return Probed((name, ns(at), ns(at + 0.01), batch, rows, None))


def stored(store: str, text: str, columns: list[str], *rows: tuple[Any, ...]) -> Stored:
    """What a store answered to a query after the drain."""
    table = pl.DataFrame(list(rows), schema=columns, orient="row")
    return Stored(StoreQuery(store=store, text=text).name, StoreRows(rows=table))


def hash_of(key: str) -> int | None:
    """The column `key` of a record with this key; none if it is empty."""
    return tables.key_hash(key.encode()) if key else None


def event(at: float, name: str, /, **fields: Any) -> Event:
    """An event by the name that it has in the file."""
    fields.setdefault("process", fields.get("component", ""))
    return codec.convert(EVENTS[name], {"time": ns(at), **codec.fields_of(fields)})


def batch(
    component: str,
    start: float,
    end: float,
    **offsets: tuple[int, int] | dict[int, tuple[int, int]],
) -> Batch:
    """A micro-batch that took offsets of topics: `lines=(0, 5)` of partition 0, or `lines={1: (0,
    5)}`.
    """
    taken = {
        topic: spans if isinstance(spans, dict) else {0: spans} for topic, spans in offsets.items()
    }
    spans = [span for partitions in taken.values() for span in partitions.values()]
    return Batch(
        time=ns(end),
        component=component,
        query="query",
        batch=0,
        start=ns(start),
        end=ns(end),
        rows=sum(past - first for first, past in spans),
        offsets=taken,
    )


def inject(at: float, kind: str, target: str = "", *, fault: int = 0) -> Event:
    return Inject(time=ns(at), fault=fault, kind=kind, target=target)


def heal(at: float, kind: str, target: str = "", *, fault: int = 0) -> Event:
    return Heal(time=ns(at), fault=fault, kind=kind, target=target)


def undrained(*waits: Wait) -> Event:
    return DrainIncomplete(time=ns(200), waits=waits)


def behind(
    reader: str, topic: str = "lines", *, partition: int | None = 0, records: int = 1
) -> Wait:
    """A reader that has not read a partition to its end."""
    return Wait(
        reason="behind", reader=reader, topics=(topic,), partition=partition, records=records
    )


def unreadable(topic: str, partition: int | None = None) -> Wait:
    """A topic, or a partition of it, whose end nobody could tell."""
    return Wait(reason="unreadable", topics=(topic,), partition=partition)


def history_of(
    *lines: Sent | Seen | Kept | Probed | Stored | Event | list[Any],
    components: dict[str, dict[str, Any]] | None = None,
    broken: bool = False,
) -> History:
    """A history of a run that drained, unless a line says that it did not, or it was `broken` under
    load.
    """
    flat = [one for line in lines for one in (line if isinstance(line, list) else [line])]
    events = [
        event(0, "clock", wall_ns=WALL_NS),
        event(0, "phase", phase="load"),
        *(one for one in flat if isinstance(one, Event)),
    ]
    if not broken:
        events.append(event(190, "phase", phase="drain"))
        events += (
            []
            if any(isinstance(one, DrainIncomplete) for one in events)
            else [event(200, "drained", seconds=10)]
        )
    sent_rows = [one.row for one in flat if isinstance(one, Sent)]
    seen_rows = [one.row for one in flat if isinstance(one, Seen)]
    probed_rows = [one.row for one in flat if isinstance(one, Probed)]
    kept_rows = [one.row for one in flat if isinstance(one, Kept)]
    declaration = {"components": whole(components or {})}
    return History(
        events=tuple(sorted(events, key=lambda one: one.time)),
        ledger=Ledger(
            sent=_table(sent_rows, schemas.SENT),
            seen=_table(seen_rows, schemas.SEEN),
            kept=_table(kept_rows, schemas.KEPT),
            probed=_table(probed_rows, schemas.PROBED),
        ),
        rows={one.name: one.rows for one in flat if isinstance(one, Stored)},
        declaration=declaration,
        components=components_of(declaration),
    )


def whole(components: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Components with the keys that their kinds must have and no test is about."""
    needed = {"spark_job": {"job": "job.py"}, "sink": {"store": "store", "table": "records"}}
    return {name: {**needed.get(body["kind"], {}), **body} for name, body in components.items()}


def _table(rows: list[tuple[Any, ...]], schema: Any) -> pl.DataFrame:
    whole_rows = [row + (None,) * (len(schema) - len(row)) for row in rows]
    return pl.DataFrame(whole_rows, schema=empty(schema).schema, orient="row")
