"""RocksDB, through rocksdict: keys and values in a folder, which one program at a time may write.

Asked with `get KEY`, `scan [PREFIX]` or `count [PREFIX]`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from rocksdict import AccessType, Options, Rdict, WriteBatch

from streambed.errors import QueryError, StoreError
from streambed.stores.store import Address, Answer, SinkTable


class RocksDB:
    """An open database. A sink's row is kept under table/topic/partition/offset, as JSON."""

    def __init__(self, database: Rdict) -> None:
        self._database = database

    def ask(self, text: str) -> Answer:
        """One of three commands."""
        command, _, key = text.strip().partition(" ")
        if command == "get" and key:
            found = self._database.get(key.strip().encode())
            return Answer(
                columns=("key", "value"),
                rows=[] if found is None else [(key.strip(), _text(found))],
            )
        if command == "scan":
            return Answer(
                columns=("key", "value"),
                rows=[(_text(name), _text(value)) for name, value in self._entries(key)],
            )
        if command == "count":
            return Answer(columns=("count",), rows=[(sum(1 for _ in self._entries(key)),)])
        raise QueryError(
            "RocksDB has no query language: ask `get KEY`, `scan [PREFIX]` or `count [PREFIX]`, "
            f"not '{text}'"
        )

    def _entries(self, prefix: str) -> Iterator[tuple[bytes, bytes]]:
        begin = prefix.strip().encode()
        entries: Iterator[Any] = iter(self._database.items(from_key=begin or None))
        for key, value in entries:
            if not key.startswith(begin):
                return
            yield key, value

    def make_table(self, table: SinkTable) -> None:
        """There are no tables."""

    def write(self, table: SinkTable, rows: Iterable[tuple[Any, ...]]) -> None:
        """All rows or none. Offsets are padded, so that keys have the order of records."""
        batch = WriteBatch(raw_mode=True)
        for row in rows:
            record = {
                name: _text(value) if isinstance(value, bytes) else value
                for name, value in zip(table.columns, row, strict=True)
            }
            key = f"{table.name}/{record['topic']}/{record['partition']}/{record['offset']:019}"
            batch.put(key.encode(), json.dumps(record).encode())
        self._database.write(batch)

    def close(self) -> None:
        """Let another program open it."""
        self._database.close()


def connect(address: Address, read_only: bool) -> RocksDB:
    """Open the folder; keys and values are plain bytes, as every other client of RocksDB has
    them.
    """
    try:
        access = AccessType.read_only() if read_only else AccessType.read_write()
        return RocksDB(Rdict(address.path, Options(raw_mode=True), access_type=access))
    except Exception as error:  # rocksdict raises nothing more particular.
        raise StoreError(f"{address.path} cannot be opened: {error}") from error


def _text(found: bytes) -> str:
    return found.decode(errors="backslashreplace")
