"""DuckDB: a file that one program may open for writing, or several for reading."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import duckdb

from streambed.errors import StoreError
from streambed.stores.sql import Dialect, SqlStore
from streambed.stores.store import Address, QueryResult, SinkTable

DIALECT = Dialect(errors=(duckdb.Error,), lost=lambda error: False)


class DuckDB:
    """Opens the file for each request and closes it again, so that other programs can open it."""

    def __init__(self, address: Address, read_only: bool) -> None:
        self._path = address.path
        self._read_only = read_only

    def _open(self) -> SqlStore:
        try:
            return SqlStore(duckdb.connect(self._path, read_only=self._read_only), DIALECT)
        except duckdb.IOException as error:
            raise StoreError(
                f"the file cannot be opened, another program may be writing it: {error}"
            ) from error

    def ask(self, text: str) -> QueryResult:
        """Carry out one statement."""
        store = self._open()
        try:
            return store.ask(text)
        finally:
            store.close()

    def make_table(self, table: SinkTable) -> None:
        """Make a table if it does not exist."""
        self.ask(DIALECT.creation(table))

    def write(self, table: SinkTable, rows: Iterable[tuple[Any, ...]]) -> None:
        """Write all rows in one transaction."""
        store = self._open()
        try:
            store.write(table, rows)
        finally:
            store.close()

    def close(self) -> None:
        """Does nothing: the file is closed after each request."""


def connect(address: Address, read_only: bool) -> DuckDB:
    """Does not open the file yet: each request does."""
    return DuckDB(address, read_only)
