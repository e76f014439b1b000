"""A store, seen from a client: ask it, or write a sink's rows into a table of it."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from streambed.errors import MissingError

CONNECT_S = 2
"""So long a connection may take; whoever can wait longer asks again."""
KEY = ("topic", "partition", "offset")
"""What tells two records apart, and so the primary key of a sink's table: a record that is written
twice is there once.
"""
COLUMNS = {
    "topic": "name",
    "partition": "integer",
    "offset": "integer",
    "timestamp": "integer",
    "key": "text",
    "value": "text",
}
"""The columns of every sink's table, with their types: name (short text), text, bytes, integer,
real, boolean.
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
class Answer:
    """What a store said: named columns and their rows. Without columns it had nothing to show."""

    columns: tuple[str, ...] = ()
    rows: Sequence[tuple[Any, ...]] = ()


@dataclass(frozen=True, kw_only=True)
class SinkTable:
    """A table that a sink writes: its name, and the type of each column, those of COLUMNS first."""

    name: str
    columns: dict[str, str]


class Store(Protocol):
    """An open store. What it cannot do raises StoreError if it does not answer, QueryError if it
    refuses.
    """

    def ask(self, text: str) -> Answer:
        """Carry out one statement or command in the store's own language."""

    def make_table(self, table: SinkTable) -> None:
        """Make a table unless it is there."""

    def write(self, table: SinkTable, rows: Iterable[tuple[Any, ...]]) -> None:
        """Write rows; one whose key is there already takes its place."""

    def close(self) -> None:
        """Let go of it."""


ENGINES = ("cassandra", "duckdb", "mariadb", "mongodb", "postgresql", "redis", "rocksdb", "sqlite")
"""Each is a module beside this one, with a function `connect`."""


def connect(address: Address, *, read_only: bool = False) -> Store:
    """Open a store. `read_only` keeps a store that is a file from being changed, and from being
    locked for others.
    """
    try:
        module = importlib.import_module(
            f"streambed.stores.{address.engine}"
        )  # Only the driver that is needed, which may be absent.
    except ModuleNotFoundError as error:
        what = f"the client of {address.engine} is not installed ({error.name})"
        raise MissingError(what, command="pip install 'streambed[stores]'") from None
    opened: Store = module.connect(address, read_only)
    return opened
