"""RocksDB, through rocksdict: keys and values in a folder that one program at a time may write.

Queries are `get KEY`, `scan [PREFIX]` or `count [PREFIX]`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from rocksdict import AccessType, Options, Rdict, WriteBatch

from streambed.errors import QueryError, StoreError
from streambed.stores.store import Address, QueryResult, SinkTable


class RocksDB:
    """An open database. A sink's row is kept under table/topic/partition/offset, as JSON."""

    def __init__(self, database: Rdict) -> None:
        self._database = database

    def ask(self, text: str) -> QueryResult:
        """Carry out get, scan or count."""
        command, _, key = text.strip().partition(" ")
        if command == "get" and key:
            value = self._database.get(key.strip().encode())
            entries = [] if value is None else [(key.strip(), _text(value))]
            return QueryResult(columns=("key", "value"), rows=entries)
        if command == "scan":
            entries = [(_text(name), _text(value)) for name, value in self._entries(key)]
            return QueryResult(columns=("key", "value"), rows=entries)
        if command == "count":
            return QueryResult(columns=("count",), rows=[(sum(1 for _ in self._entries(key)),)])
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
        """Does nothing: RocksDB has no tables."""

    def write(self, table: SinkTable, rows: Iterable[tuple[Any, ...]]) -> None:
        """Write all rows in one batch. Offsets are padded, so that keys sort like records."""
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
        """Close the folder, so that another program can open it."""
        self._database.close()


def connect(address: Address, read_only: bool) -> RocksDB:
    """Open the folder. Keys and values are plain bytes, as with other clients of RocksDB."""
    try:
        access = AccessType.read_only() if read_only else AccessType.read_write()
        return RocksDB(Rdict(address.path, Options(raw_mode=True), access_type=access))
    except Exception as error:  # rocksdict raises nothing more specific.
        raise StoreError(f"{address.path} cannot be opened: {error}") from error


def _text(value: bytes) -> str:
    return value.decode(errors="backslashreplace")
