"""SQLite: a file, which several programs may open at once and one at a time may write."""

from __future__ import annotations

import sqlite3

from streambed.stores.sql import Dialect, SqlStore, translate_errors
from streambed.stores.store import Address

BUSY_S = 10
DIALECT = Dialect(errors=(sqlite3.Error,), lost=lambda error: "locked" in str(error))


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
