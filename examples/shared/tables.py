"""Rows of a batch into a table of PostgreSQL."""

from __future__ import annotations

import psycopg
from psycopg import sql
from pyspark.sql import DataFrame


def upsert(rows: DataFrame, store: str, table: str, *, key: tuple[str, ...]) -> None:
    """Insert all rows, or update those whose key is there, in one transaction. The rows come to the
    driver: they must be few.
    """
    with psycopg.connect(store) as connection:
        statement = upsert_statement(table, rows.columns, key)
        connection.cursor().executemany(statement, [tuple(row) for row in rows.collect()])


def upsert_statement(table: str, columns: list[str], key: tuple[str, ...]) -> sql.Composed:
    """Insert a row, or overwrite what is not part of its key."""
    changes = [
        sql.SQL("{0} = excluded.{0}").format(sql.Identifier(column))
        for column in columns
        if column not in key
    ]
    text = """insert into {table} ({columns}) values ({values})
    on conflict ({key}) do update set {changes}"""
    return sql.SQL(text).format(
        table=sql.Identifier(table),
        columns=sql.SQL(", ").join(map(sql.Identifier, columns)),
        values=sql.SQL(", ").join(sql.Placeholder() * len(columns)),
        key=sql.SQL(", ").join(map(sql.Identifier, key)),
        changes=sql.SQL(", ").join(changes),
    )
