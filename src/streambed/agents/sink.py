"""Sink agent: reads topics, writes each record into a table of a store, and only then says that it
was read.

What was written and not yet committed is written again after a failure, and takes its own place.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from streambed.agents.agent import Agent, import_factory, read_order
from streambed.agents.consumer import follow, report
from streambed.agents.reader import ReaderFactory, ReadRecord
from streambed.agents.reading import Reading
from streambed.errors import QueryError, StoreError
from streambed.record.gates import ServersReady
from streambed.record.orders import SinkOrder
from streambed.stores.store import Store, connect

AGAIN_S = 0.2
BATCH = 1000
LINGER_S = 0.3
"""So long records are gathered before they are written together; meanwhile others may open a store
that is a file.
"""
Row = tuple[Any, ...]


class Unfit(Exception):
    """A record that cannot be written as declared."""


def row_of(record: ReadRecord, form: str, taken: dict[str, str]) -> Row:
    """A record as a row: where it was, its time in milliseconds, key, value, and what is taken out
    of the value.
    """
    topic, partition, offset = record.topic, record.partition, record.offset
    key: bytes | str | None = record.key
    value: bytes | str | None = record.value
    try:
        if form != "bytes":
            key, value = _text(key), _text(value)
        found = _object(value) if form == "json" and value is not None else {}
        columns = [_typed(found.get(name), kind, name) for name, kind in taken.items()]
    except ValueError as error:
        hint = "" if form == "bytes" else f". If others are not {form} either, give `format: bytes`"
        raise Unfit(
            f"record {topic}/{partition} at {offset} cannot be written: {error}{hint}"
        ) from None
    return (topic, partition, offset, record.timestamp_ms, key, value, *columns)


def _text(found: bytes | str | None) -> str | None:
    try:
        return found.decode() if isinstance(found, bytes) else found
    except UnicodeDecodeError as error:
        raise ValueError(
            f"it is not text in UTF-8 ({error.reason} at byte {error.start})"
        ) from None


def _object(text: Any) -> dict[str, Any]:
    found = json.loads(text)
    if not isinstance(found, dict):
        raise ValueError("its value is JSON, but no object with keys")
    return found


def _typed(found: Any, kind: str, name: str) -> Any:
    """A value of JSON as its column wants it; what does not fit is refused rather than bent."""
    if found is None:
        return None
    if kind == "text":
        return found if isinstance(found, str) else json.dumps(found)
    fits: dict[str, tuple[type, ...]] = {
        "integer": (int,),
        "real": (int, float),
        "boolean": (bool,),
    }
    right = isinstance(found, fits[kind]) and isinstance(found, bool) == (
        kind == "boolean"
    )  # Python counts a boolean as an integer.
    if not right:
        raise ValueError(f"its {name} is {json.dumps(found)}, which is no {kind}")
    return float(found) if kind == "real" else found


class Sinking(Reading):
    """A consumer whose records count as seen once the store has them."""

    def __init__(self, agent: Agent, order: SinkOrder, make: ReaderFactory) -> None:
        super().__init__(agent, order.member, order, make, commit_on_flush=True)
        self.order = order
        self.taken = {name: order.table.columns[name] for name in order.taken}
        self.store: Store | None = None

    def take(self, wait_s: float) -> None:
        """Read what comes in a while, write it, note it, flush the ledger, and only then commit."""
        records = self.gather(wait_s)
        rows = [row_of(record, self.order.format, self.taken) for record in records]
        if rows and self.persist(rows):
            self.note(records)
            self.flush()

    def gather(self, wait_s: float) -> list[ReadRecord]:
        """The records that come in a while, or as many as are written at once."""
        records: list[ReadRecord] = []
        end = time.monotonic() + wait_s
        while (
            len(records) < BATCH
            and (left_s := end - time.monotonic()) > 0
            and not self.agent.stopping
        ):
            records += self.reader.take(left_s, most=BATCH - len(records))
            self.unnoted = bool(records)
        return records

    def persist(self, rows: list[Row]) -> bool:
        """Write, again and again if the store does not answer: False if told to stop before it
        did.
        """
        while not self.agent.stopping:
            try:
                self.opened().write(self.order.table, rows)
                return True
            except StoreError as error:
                self.lose(error)
        return False

    def opened(self) -> Store:
        """The store, connected anew if need be, with the table in it."""
        if self.store is None:
            self.store = connect(self.order.store)
            self.store.make_table(self.order.table)
        return self.store

    def lose(self, error: StoreError) -> None:
        """The connection is gone: wait a moment, then make another."""
        print(f"the store does not answer: {error}", file=sys.stderr)
        if self.store:
            self.store.close()
            self.store = None
        report(self.agent, [self])
        time.sleep(AGAIN_S)


def main(order: SinkOrder) -> None:
    """Write until told to stop."""
    agent = Agent()
    agent.wait_for(ServersReady)
    sinking = Sinking(agent, order, import_factory(order.reader))
    while not agent.stopping and sinking.store is None:
        try:
            sinking.opened()
        except StoreError as error:
            sinking.lose(error)
    follow(agent, [sinking], LINGER_S)
    if sinking.store:
        sinking.store.close()


if __name__ == "__main__":
    try:
        main(read_order(SinkOrder))
    except (QueryError, Unfit) as refusal:
        sys.exit(str(refusal))
