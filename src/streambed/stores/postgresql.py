"""PostgreSQL, through psycopg."""

from __future__ import annotations

import psycopg

from streambed.stores.sql import Dialect, SqlStore, translate_errors
from streambed.stores.store import CONNECT_S, Address

USER = "postgres"
DIALECT = Dialect(
    errors=(psycopg.Error,),
    lost=lambda error: isinstance(error, psycopg.OperationalError | psycopg.InterfaceError),
    placeholder="%s",
    types={"bytes": "bytea"},
    insert="insert into",
    conflict=True,
)


def connect(address: Address, read_only: bool) -> SqlStore:
    """Open a connection."""
    with translate_errors(DIALECT):
        connection = psycopg.connect(
            host=address.hosts[0],
            port=address.port,
            dbname=address.database,
            user=USER,
            connect_timeout=CONNECT_S,
            autocommit=True,
        )
    return SqlStore(connection, DIALECT)
