"""MariaDB, in the protocol of MySQL, through PyMySQL."""

from __future__ import annotations

import pymysql

from streambed.stores.sql import Dialect, SqlStore, translate_errors
from streambed.stores.store import CONNECT_S, Address

USER = "streambed"
CLIENT_ERRORS = range(2000, 3000)
"""Error numbers of the client: no server, a lost connection."""


def connection_lost(error: Exception) -> bool:
    """Whether the server does not answer: PyMySQL's classes do not tell, error numbers do."""
    number = error.args[0] if error.args else 0
    return isinstance(error, OSError | pymysql.err.InterfaceError) or number in CLIENT_ERRORS


DIALECT = Dialect(
    errors=(pymysql.err.MySQLError, OSError),
    lost=connection_lost,
    quote="`",
    placeholder="%s",
    types={"text": "longtext", "bytes": "longblob"},
    insert="replace into",
)


def connect(address: Address, read_only: bool) -> SqlStore:
    """Open a connection."""
    with translate_errors(DIALECT):
        connection = pymysql.connect(
            host=address.hosts[0],
            port=address.port,
            user=USER,
            database=address.database,
            connect_timeout=CONNECT_S,
            autocommit=True,
        )
    return SqlStore(connection, DIALECT)
