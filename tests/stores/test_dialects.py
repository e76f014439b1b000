"""SQL as each store wants it, and which of its errors mean that it is gone."""

from __future__ import annotations

import psycopg
import pymysql
import pytest

from streambed.errors import MissingError, QueryError, StoreError
from streambed.stores import mariadb, postgresql
from streambed.stores.sql import translate_errors
from streambed.stores.store import Address, SinkTable, connect

TABLE = SinkTable(
    name="t",
    columns={"topic": "name", "partition": "integer", "offset": "integer", "value": "bytes"},
)


def test_postgresql_says_at_the_end_what_takes_whose_place() -> None:
    assert postgresql.DIALECT.upsert(TABLE) == (
        'insert into "t" ("topic", "partition", "offset", "value") values (%s, %s, %s, %s) '
        'on conflict ("topic", "partition", "offset") do update set "value" = excluded."value"'
    )


def test_mariadb_has_its_own_quotes_and_types() -> None:
    assert mariadb.DIALECT.creation(TABLE) == (
        "create table if not exists `t` (`topic` varchar(249), `partition` bigint, `offset` "
        "bigint, `value` longblob, "
        "primary key (`topic`, `partition`, `offset`))"
    )


@pytest.mark.parametrize(
    ("dialect", "error", "meaning"),
    [
        (mariadb.DIALECT, pymysql.err.OperationalError(2013, "Lost connection"), StoreError),
        (mariadb.DIALECT, pymysql.err.OperationalError(1054, "Unknown column"), QueryError),
        (mariadb.DIALECT, ConnectionResetError("reset"), StoreError),
        (postgresql.DIALECT, psycopg.OperationalError("the connection is closed"), StoreError),
        (postgresql.DIALECT, psycopg.errors.UndefinedTable("no such table"), QueryError),
    ],
)
def test_a_lost_connection_is_distinguished_from_a_refusal(dialect, error, meaning) -> None:
    with pytest.raises(meaning), translate_errors(dialect):
        raise error


def test_a_client_that_is_not_installed_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "streambed.stores.redis", None)
    with pytest.raises(
        MissingError,
        match=r"the client of redis is not installed .* pip install 'streambed\[stores\]'",
    ):
        connect(Address(engine="redis"))
