"""Sink agent: reads topics, writes each record into a table of a store, and only then commits it.

After a failure, uncommitted records are written again and replace themselves.
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

RETRY_S = 0.2
BATCH = 1000
LINGER_S = 0.3
"""How long records are gathered for one write; meanwhile others may open the store."""
Row = tuple[Any, ...]


class UnwritableRecord(Exception):
    """A record that cannot be written as declared."""


def row_of(record: ReadRecord, form: str, taken: dict[str, str]) -> Row:
    """A record as a row: position, time in milliseconds, key, value, and the columns `taken` from
    the value.
    """
    topic, partition, offset = record.topic, record.partition, record.offset
    key: bytes | str | None = record.key
    value: bytes | str | None = record.value
    try:
        if form != "bytes":
            key, value = _text(key), _text(value)
        fields = _object(value) if form == "json" and value is not None else {}
        columns = [_column_value(fields.get(name), kind, name) for name, kind in taken.items()]
    except ValueError as error:
        hint = "" if form == "bytes" else f". If others are not {form} either, give `format: bytes`"
        raise UnwritableRecord(
            f"record {topic}/{partition} at {offset} cannot be written: {error}{hint}"
        ) from None
    return (topic, partition, offset, record.timestamp_ms, key, value, *columns)


def _text(content: bytes | str | None) -> str | None:
    try:
        return content.decode() if isinstance(content, bytes) else content
    except UnicodeDecodeError as error:
        raise ValueError(
            f"it is not text in UTF-8 ({error.reason} at byte {error.start})"
        ) from None


def _object(text: Any) -> dict[str, Any]:
    value = json.loads(text)
    if not isinstance(value, dict):
        raise ValueError("its value is JSON, but no object with keys")
    return value


def _column_value(value: Any, kind: str, name: str) -> Any:
    """A JSON value for a column of this kind; a value that does not fit is refused."""
    if value is None:
        return None
    if kind == "text":
        return value if isinstance(value, str) else json.dumps(value)
    fits: dict[str, tuple[type, ...]] = {
        "integer": (int,),
        "real": (int, float),
        "boolean": (bool,),
    }
    # For Python a boolean is an integer too.
    boolean_as_number = isinstance(value, bool) and kind != "boolean"
    is_fit = isinstance(value, fits[kind]) and not boolean_as_number
    if not is_fit:
        raise ValueError(f"its {name} is {json.dumps(value)}, which is no {kind}")
    return float(value) if kind == "real" else value


class SinkReading(Reading):
    """A consumer whose records count as seen once the store has them."""

    def __init__(self, agent: Agent, order: SinkOrder, make: ReaderFactory) -> None:
        super().__init__(agent, order.member, order, make, commit_on_flush=True)
        self.order = order
        self.taken = {name: order.table.columns[name] for name in order.taken}
        self.store: Store | None = None

    def take(self, wait_s: float) -> None:
        """Gather records, write them, note them, flush the ledger, and only then commit."""
        records, tenures = self.gather(wait_s)
        rows = [row_of(record, self.order.format, self.taken) for record in records]
        if rows and self.persist(rows):
            self.note(records, tenures)
            self.flush()

    def gather(self, wait_s: float) -> tuple[list[ReadRecord], list[int | None]]:
        """The records that arrive within `wait_s`, at most BATCH, and the tenure of each: it may
        end before the store has answered.
        """
        records: list[ReadRecord] = []
        tenures: list[int | None] = []
        end = time.monotonic() + wait_s
        while len(records) < BATCH and not self.agent.stopping:
            left_s = end - time.monotonic()
            if left_s <= 0:
                break
            taken = self.reader.take(left_s, most=BATCH - len(records))
            tenures += [self.tenures.number((one.topic, one.partition)) for one in taken]
            records += taken
            self.unnoted = bool(records)
        return records, tenures

    def persist(self, rows: list[Row]) -> bool:
        """Write rows, with retries while the store is away. False: stopped before it answered."""
        while not self.agent.stopping:
            try:
                self.connected_store().write(self.order.table, rows)
                return True
            except StoreError as error:
                self.disconnect(error)
        return False

    def connected_store(self) -> Store:
        """The store; connects and creates the table first if need be."""
        if self.store is None:
            self.store = connect(self.order.store)
            self.store.make_table(self.order.table)
        return self.store

    def disconnect(self, error: StoreError) -> None:
        """Close the lost connection and wait a moment before the next one."""
        print(f"the store does not answer: {error}", file=sys.stderr)
        if self.store:
            self.store.close()
            self.store = None
        report(self.agent, [self])
        time.sleep(RETRY_S)


def main(order: SinkOrder) -> None:
    """Write records until stopped."""
    agent = Agent()
    agent.wait_for(ServersReady)
    sinking = SinkReading(agent, order, import_factory(order.reader))
    while not agent.stopping and sinking.store is None:
        try:
            sinking.connected_store()
        except StoreError as error:
            sinking.disconnect(error)
    follow(agent, [sinking], LINGER_S)
    if sinking.store:
        sinking.store.close()


if __name__ == "__main__":
    try:
        main(read_order(SinkOrder))
    except (QueryError, UnwritableRecord) as refusal:
        sys.exit(str(refusal))
