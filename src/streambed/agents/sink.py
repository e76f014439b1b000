"""Sink agent: reads topics, writes each record into a table of a store, and only then says that it was read.

What was written and not yet committed is written again after a failure, and takes its own place.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from confluent_kafka import KafkaException, Message, TopicPartition

from streambed.agents.agent import Agent
from streambed.agents.consumer import Reading, follow, report, where
from streambed.errors import QueryError, StoreError
from streambed.stores.store import Address, SinkTable, Store, connect

AGAIN_S = 0.2
BATCH = 1000
LINGER_S = 0.3
"""So long records are gathered before they are written together; meanwhile others may open a store that is a file."""
Row = tuple[Any, ...]


class Unfit(Exception):
    """A record that cannot be written as declared."""


def row_of(message: Message, form: str, taken: dict[str, str]) -> Row:
    """A record as a row: where it was, its time in milliseconds, key, value, and what is taken out of the value."""
    topic, partition, offset = where(message)
    key: bytes | str | None = message.key()
    value: bytes | str | None = message.value()
    try:
        if form != "bytes":
            key, value = _text(key), _text(value)
        found = _object(value) if form == "json" and value is not None else {}
        columns = [_typed(found.get(name), kind, name) for name, kind in taken.items()]
    except ValueError as error:
        hint = "" if form == "bytes" else f". If others are not {form} either, give `format: bytes`"
        raise Unfit(f"record {topic}/{partition} at {offset} cannot be written: {error}{hint}") from None
    return (topic, partition, offset, message.timestamp()[1], key, value, *columns)


def _text(found: bytes | str | None) -> str | None:
    try:
        return found.decode() if isinstance(found, bytes) else found
    except UnicodeDecodeError as error:
        raise ValueError(f"it is not text in UTF-8 ({error.reason} at byte {error.start})") from None


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
    fits: dict[str, tuple[type, ...]] = {"integer": (int,), "real": (int, float), "boolean": (bool,)}
    right = isinstance(found, fits[kind]) and isinstance(found, bool) == (kind == "boolean")  # Python counts a boolean as an integer.
    if not right:
        raise ValueError(f"its {name} is {json.dumps(found)}, which is no {kind}")
    return float(found) if kind == "real" else found


class Sinking(Reading):
    """A consumer whose records count as seen once the store has them."""

    def __init__(self, agent: Agent, order: dict[str, Any]) -> None:
        super().__init__(agent, order)
        self.address = Address(**order["store"])
        self.sink_table = SinkTable(**order["table"])
        self.taken = {name: self.sink_table.columns[name] for name in order["taken"]}
        self.store: Store | None = None

    def take(self, wait_s: float) -> None:
        """Read what comes in a while, write it, note it, flush the ledger, and only then commit."""
        messages = self.sound(self.client.consume(BATCH, wait_s))
        self.idle = not messages
        rows = [row_of(message, self.order["format"], self.taken) for message in messages]
        if not rows or self.persist(rows):
            self.note(messages)
            self.flush()
            self.commit(messages)

    def persist(self, rows: list[Row]) -> bool:
        """Write, again and again if the store does not answer: False if told to stop before it did."""
        while not self.agent.stopping:
            try:
                self.opened().write(self.sink_table, rows)
                return True
            except StoreError as error:
                self.lose(error)
        return False

    def opened(self) -> Store:
        """The store, connected anew if need be, with the table in it."""
        if self.store is None:
            self.store = connect(self.address)
            self.store.make_table(self.sink_table)
        return self.store

    def lose(self, error: StoreError) -> None:
        """The connection is gone: wait a moment, then make another."""
        print(f"the store does not answer: {error}", file=sys.stderr)
        if self.store:
            self.store.close()
            self.store = None
        report(self.agent, [self])
        time.sleep(AGAIN_S)

    def commit(self, messages: list[Message]) -> None:
        """Say how far the group has come."""
        ends = {where(message)[:2]: where(message)[2] + 1 for message in messages}
        if not ends:
            return
        try:
            self.client.commit(offsets=[TopicPartition(*part, end) for part, end in ends.items()], asynchronous=False)
        except KafkaException as error:
            print(f"commit: {error}", file=sys.stderr)  # The next one says the same and more.


def main(order: dict[str, Any]) -> None:
    """Write until told to stop."""
    agent = Agent()
    agent.gate("servers")
    sinking = Sinking(agent, order)
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
        main(json.loads(sys.argv[1]))
    except (QueryError, Unfit) as refusal:
        sys.exit(str(refusal))
