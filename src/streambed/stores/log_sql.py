"""SQL over topics that were read back, in DuckDB: each topic is a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

import polars as pl

from streambed.errors import MissingError, QueryError

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

COLUMNS = '"partition" integer, "offset" bigint, "timestamp" timestamp, key varchar, value varchar'
"""The columns of each table. `timestamp` is Kafka's, in UTC."""


def check_sql(text: str, topics: Iterable[str]) -> tuple[str, ...]:
    """The topics that a query reads; QueryError if it is wrong."""
    with _connect() as connection:
        _make_tables(connection, topics)
        connection.execute(f"explain {text}")
        named = connection.get_table_names(text)
    return tuple(topic for topic in topics if topic in named)


def result_columns(text: str, topics: Iterable[str]) -> tuple[str, ...]:
    """The columns of a query's result; QueryError if it is wrong."""
    with _connect() as connection:
        _make_tables(connection, topics)
        described = connection.execute(f"describe {text}").fetchall()
    return tuple(str(column[0]) for column in described)


def _make_tables(connection: DuckDBPyConnection, topics: Iterable[str]) -> None:
    for topic in topics:
        connection.execute(f'create table "{topic}" ({COLUMNS})')


def run_sql(text: str, tables: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """The result of a query over tables; QueryError if it fails."""
    with _connect() as connection:
        for name, frame in tables.items():
            connection.register(f"frame of {name}", frame.to_arrow())
            connection.execute(f'create view "{name}" as select * from "frame of {name}"')
        result = pl.from_arrow(connection.execute(text).arrow().read_all())
    assert isinstance(result, pl.DataFrame)
    return result


@contextmanager
def _connect() -> Iterator[DuckDBPyConnection]:
    """A database in memory; its errors become QueryError."""
    try:
        import duckdb  # An extra: most checks do without it.
    except ModuleNotFoundError:
        what = "a check has SQL over topics, and DuckDB is not installed"
        raise MissingError(what, command="pip install 'streambed[stores]'") from None
    connection = duckdb.connect()
    try:
        yield connection
    except duckdb.Error as error:
        raise QueryError(str(error).strip().partition("\n")[0]) from error
    finally:
        connection.close()
