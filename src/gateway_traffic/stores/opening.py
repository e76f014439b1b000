"""A store by its address."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

from gateway_traffic.errors import UsageError
from gateway_traffic.stores.sqlite import SqliteStore
from gateway_traffic.stores.store import TrafficStore


def open_store(address: str, *, read_only: bool = False) -> TrafficStore:
    """A file's path."""
    parts = urlsplit(address)
    if parts.scheme:
        raise UsageError(f"a store is a file such as traffic.db; asked for: {address!r}")
    folder = Path(address).absolute().parent
    if not folder.is_dir():
        raise UsageError(f"the store {address} cannot be made: there is no folder {folder}")
    return SqliteStore(Path(address), read_only=read_only)
