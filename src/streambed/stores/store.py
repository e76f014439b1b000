"""The client side of a store: run a query, or write a sink's rows into a table."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from streambed.errors import MissingError

CONNECT_S = 2
"""Longest time to connect; callers that can wait longer retry."""
KEY = ("topic", "partition", "offset")
"""The primary key of a sink's table: a record that is written twice is stored once."""
COLUMNS = {
    "topic": "name",
    "partition": "integer",
    "offset": "integer",
    "timestamp": "integer",
    "key": "text",
    "value": "text",
}
"""The columns of every sink's table. Types: name (short text), text, bytes, integer, real, boolean.
"""


@dataclass(frozen=True, kw_only=True)
class Address:
    """Where a store is: hosts and a port, or a path."""

    engine: str
    hosts: tuple[str, ...] = ()
    port: int = 0
    database: str = ""
    path: str = ""


@dataclass(frozen=True, kw_only=True)
class QueryResult:
    """The result of a query: named columns and rows. A statement without result has no columns."""

    columns: tuple[str, ...] = ()
    rows: Sequence[tuple[Any, ...]] = ()


@dataclass(frozen=True, kw_only=True)
class SinkTable:
    """A table that a sink writes: its name, and the type of each column, those of COLUMNS first."""

    name: str
    columns: dict[str, str]


class Store(Protocol):
    """An open store. Methods raise StoreError if it does not answer, QueryError if it refuses."""

    def ask(self, text: str) -> QueryResult:
        """Carry out one statement or command in the store's own language."""

    def make_table(self, table: SinkTable) -> None:
        """Make a table if it does not exist."""

    def write(self, table: SinkTable, rows: Iterable[tuple[Any, ...]]) -> None:
        """Write rows; a row replaces one with the same key."""

    def close(self) -> None:
        """Close the connection or the file."""


ENGINES = ("cassandra", "duckdb", "mariadb", "mongodb", "postgresql", "redis", "rocksdb", "sqlite")
"""Each is a module beside this one, with a function `connect`."""


def connect(address: Address, *, read_only: bool = False) -> Store:
    """Open a store. With `read_only`, a store that is a file is neither changed nor locked."""
    try:
        # Only the driver that is needed is imported: others may not be installed.
        module = importlib.import_module(f"streambed.stores.{address.engine}")
    except ModuleNotFoundError as error:
        what = f"the client of {address.engine} is not installed ({error.name})"
        raise MissingError(what, command="pip install 'streambed[stores]'") from None
    store: Store = module.connect(address, read_only)
    return store
