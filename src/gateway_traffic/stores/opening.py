"""Open a store by its address."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from gateway_traffic.errors import UsageError
from gateway_traffic.stores.sqlite import SqliteStore
from gateway_traffic.stores.store import TrafficStore

CASSANDRA_PORT = 9042


def open_store(address: str, *, read_only: bool = False) -> TrafficStore:
    """Open the store at a file's path or at cassandra://HOST:PORT/KEYSPACE."""
    parts = urlsplit(address)
    if parts.scheme == "cassandra" and parts.hostname and parts.path.strip("/").isidentifier():
        return _cassandra(parts, read_only)
    if parts.scheme:
        raise UsageError(
            "a store is a file such as traffic.db or cassandra://HOST:PORT/KEYSPACE; asked for: "
            f"{address!r}"
        )
    folder = Path(address).absolute().parent
    if not folder.is_dir():
        raise UsageError(f"the store {address} cannot be made: there is no folder {folder}")
    return SqliteStore(Path(address), read_only=read_only)


def _cassandra(parts: SplitResult, read_only: bool) -> TrafficStore:
    # Cassandra's driver is slow to import.
    from gateway_traffic.stores.cassandra import CassandraStore

    return CassandraStore(
        [str(parts.hostname)],
        parts.port or CASSANDRA_PORT,
        parts.path.strip("/"),
        read_only=read_only,
    )
