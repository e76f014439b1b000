"""SQLite: a file, which several programs may open at once and one at a time may write."""

from __future__ import annotations

import sqlite3

from streambed.stores.sql import Dialect, SqlStore, translate_errors
from streambed.stores.store import Address

BUSY_S = 10
TAKEN = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
"""Primary result codes of SQLite: another program, or another connection, holds the file."""


def is_taken(error: BaseException) -> bool:
    """Whether the file was locked, so that trying again may help."""
    code = getattr(error, "sqlite_errorcode", 0)
    return code & 0xFF in TAKEN  # The upper bits say more about the reason.


DIALECT = Dialect(errors=(sqlite3.Error,), lost=is_taken)


def connect(address: Address, read_only: bool) -> SqlStore:
    """Open the file."""
    with translate_errors(DIALECT):
        connection = sqlite3.connect(
            f"file:{address.path}?mode={'ro' if read_only else 'rwc'}",
            uri=True,
            timeout=BUSY_S,
            isolation_level=None,
        )
        if not read_only:
            # Readers do not wait for a writer.
            connection.execute("pragma journal_mode = wal")
            # If the kernel fails, the run is lost anyway.
            connection.execute("pragma synchronous = off")
    return SqlStore(connection, DIALECT)
