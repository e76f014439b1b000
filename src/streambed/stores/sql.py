"""What SQL stores share: Python's database interface (DB-API), with a dialect for each engine."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from streambed.errors import QueryError, StoreError
from streambed.stores.store import KEY, QueryResult, SinkTable

TYPES = {
    # The longest name of a topic; MariaDB cannot have text without a limit in a key.
    "name": "varchar(249)",
    "text": "text",
    "bytes": "blob",
    "integer": "bigint",
    "real": "double precision",
    "boolean": "boolean",
}


@dataclass(frozen=True, kw_only=True)
class Dialect:
    """How a database differs from others.

    `lost` recognises errors of its driver which mean that the server does not answer.
    """

    errors: tuple[type[Exception], ...]
    lost: Callable[[Exception], bool]
    quote: str = '"'
    placeholder: str = "?"
    types: dict[str, str] = field(default_factory=dict)
    insert: str = "insert or replace into"
    conflict: bool = False
    """Whether an upsert ends with `on conflict … do update`."""

    def quoted(self, name: str) -> str:
        """A quoted name: some, such as `offset`, are keywords too."""
        return f"{self.quote}{name}{self.quote}"

    def creation(self, table: SinkTable) -> str:
        """The statement that makes a sink's table."""
        types = {**TYPES, **self.types}
        columns = [f"{self.quoted(name)} {types[kind]}" for name, kind in table.columns.items()]
        key = ", ".join(map(self.quoted, KEY))
        name, fields = self.quoted(table.name), ", ".join(columns)
        return f"create table if not exists {name} ({fields}, primary key ({key}))"

    def upsert(self, table: SinkTable) -> str:
        """The statement that writes one row, whether or not it is there already."""
        names = ", ".join(map(self.quoted, table.columns))
        marks = ", ".join([self.placeholder] * len(table.columns))
        others = [self.quoted(name) for name in table.columns if name not in KEY]
        statement = f"{self.insert} {self.quoted(table.name)} ({names}) values ({marks})"
        if not self.conflict:
            return statement
        key = ", ".join(map(self.quoted, KEY))
        changed = ", ".join(f"{name} = excluded.{name}" for name in others)
        return f"{statement} on conflict ({key}) do update set {changed}"


class SqlStore:
    """An open database whose connection commits each statement at once."""

    def __init__(self, connection: Any, dialect: Dialect) -> None:
        self._connection = connection
        self._dialect = dialect

    def ask(self, text: str) -> QueryResult:
        """Carry out one statement."""
        with translate_errors(self._dialect):
            cursor = self._connection.cursor()
            cursor.execute(text)
            if not cursor.description:
                return QueryResult()
            return QueryResult(
                columns=tuple(column[0] for column in cursor.description),
                rows=[tuple(row) for row in cursor.fetchall()],
            )

    def make_table(self, table: SinkTable) -> None:
        """Make a table if it does not exist."""
        self.ask(self._dialect.creation(table))

    def write(self, table: SinkTable, rows: Iterable[tuple[Any, ...]]) -> None:
        """Write all rows in one transaction."""
        with translate_errors(self._dialect):
            cursor = self._connection.cursor()
            cursor.execute("begin")
            cursor.executemany(self._dialect.upsert(table), list(rows))
            cursor.execute("commit")

    def close(self) -> None:
        """Close the connection."""
        with contextlib.suppress(*self._dialect.errors):
            self._connection.close()


@contextlib.contextmanager
def translate_errors(dialect: Dialect) -> Iterator[None]:
    """Turn a driver's errors into StoreError or QueryError."""
    try:
        yield
    except dialect.errors as error:
        raise (StoreError if dialect.lost(error) else QueryError)(str(error).strip()) from error
