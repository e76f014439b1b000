"""What the files of the brokers held after the run: a third witness, besides acks and read-back.

It explains verdicts. Only diverged replicas and hung transactions are judged by it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pyarrow as pa

from streambed.record import parquet_files
from streambed.record.ledger.schemas import BROKER_TABLES


@dataclass(frozen=True, kw_only=True)
class BrokerFiles:
    """Tables of the brokers' files; see BROKER_TABLES for their columns."""

    log_batches: pl.DataFrame
    leaders: pl.DataFrame
    group_commits: pl.DataFrame
    transaction_states: pl.DataFrame


def keep(directory: Path, brokers: Mapping[str, Mapping[str, pa.Table]]) -> None:
    """Write the tables of all brokers of a run that is over, given by component."""
    for name, schema in BROKER_TABLES.items():
        parts = [tables[name] for tables in brokers.values() if name in tables]
        if parts:
            table = pa.concat_tables([schema.empty_table(), *parts])
            parquet_files.write(directory / "history" / f"{name}.parquet", table)


def read(directory: Path) -> BrokerFiles | None:
    """The tables of a run; None if its brokers left no files, or it was made before."""
    paths = {name: directory / "history" / f"{name}.parquet" for name in BROKER_TABLES}
    if not all(path.exists() for path in paths.values()):
        return None
    frames = {
        name: _frame(parquet_files.read(path, BROKER_TABLES[name])) for name, path in paths.items()
    }
    return BrokerFiles(**frames)


def _frame(table: pa.Table) -> pl.DataFrame:
    converted = pl.from_arrow(table)
    assert isinstance(converted, pl.DataFrame)
    return converted
