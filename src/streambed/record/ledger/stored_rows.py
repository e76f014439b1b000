"""What stores held at the end of a run, as far as a check needs it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from streambed.record import file_name
from streambed.record.codec import read_message
from streambed.record.orders import Refusal

FOLDER = "rows"
"""In the folder `history` of a run."""


@dataclass(frozen=True, kw_only=True)
class StoreQuery:
    """A query in a store's own language, run after the drain."""

    store: str
    text: str

    @property
    def name(self) -> str:
        """The name of its file, without suffix."""
        digest = hashlib.sha256(self.text.encode()).hexdigest()[:12]
        return f"{file_name(self.store)}-{digest}"


@dataclass(frozen=True, kw_only=True)
class StoreProbe(StoreQuery):
    """A query that is run again and again under load."""

    every_ns: int


@dataclass(frozen=True, kw_only=True)
class BatchJob(StoreQuery):
    """A PySpark function over topics, whose answer is recorded as that of a store is.

    `text` is FILE:FUNCTION.
    """

    store: str = "spark"
    topics: tuple[str, ...]

    @property
    def name(self) -> str:
        """By its topics as well: one function may be asked about several."""
        digest = hashlib.sha256("\0".join((self.text, *self.topics)).encode()).hexdigest()[:12]
        return f"{file_name(self.store)}-{digest}"

    @property
    def file(self) -> str:
        """The file, beside the declaration."""
        return self.text.rpartition(":")[0]

    @property
    def function(self) -> str:
        """The name of the function."""
        return self.text.rpartition(":")[2]


@dataclass(frozen=True, kw_only=True)
class StoreRows:
    """The result of a query."""

    rows: pl.DataFrame | None = None
    """None if there is no result."""
    error: str = ""
    """Why there is none."""


def path_of(directory: Path, query: StoreQuery) -> Path:
    """The Arrow file of a result, in a run's folder."""
    return directory / "history" / FOLDER / f"{query.name}.arrow"


def read(directory: Path) -> Mapping[str, StoreRows]:
    """All results in a run's folder, by the name of their query."""
    folder = directory / "history" / FOLDER
    refused = {
        path.stem: StoreRows(error=read_message(path, Refusal).says)
        for path in folder.glob("*.json")
    }
    results = {path.stem: StoreRows(rows=pl.read_ipc(path)) for path in folder.glob("*.arrow")}
    return refused | results
