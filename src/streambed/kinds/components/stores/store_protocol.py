"""What the rest of streambed asks of a store."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from streambed.stores.store import Address


class Store(Protocol):
    """A component that users can query and sinks can write."""

    @property
    def name(self) -> str:
        """The name that the user gave."""

    @property
    def places(self) -> dict[str, str]:
        """The key that names each node it runs on."""

    def store_address(self, data: Path) -> Address:
        """Where clients find it, given its folder in the run."""
