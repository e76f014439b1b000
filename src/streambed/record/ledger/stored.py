"""The tables of a ledger, read when they are asked for, and only the columns that are needed.

A ledger of ten million records does not fit into memory as words. `batches` gives the columns of a
table piece by piece, with words as dictionaries: a number for each row and each word once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pyarrow as pa

from streambed.record import parquet_files

BATCH_ROWS = 1 << 20
"""Rows that are held as Arrow columns at once."""


@dataclass(frozen=True)
class StoredTable:
    """A table of a run: a Parquet file, tables in memory, or both."""

    schema: pa.Schema
    parquet: Path | None = None
    parts: tuple[pa.Table, ...] = ()
    """Arrow files of a running run, and what programs handed in."""

    def frame(self) -> pl.DataFrame:
        """Load all rows of the table into memory."""
        tables = [self.schema.empty_table()]
        if self.parquet is not None:
            # Older versions wrote other kinds of strings.
            tables.append(parquet_files.read(self.parquet, self.schema).cast(self.schema))
        return as_frame(pa.concat_tables([*tables, *self.parts]))

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Some columns of all rows, in order; words as dictionaries."""
        if self.parquet is not None:
            yield from parquet_files.batches(
                self.parquet, self.schema, columns=columns, rows=BATCH_ROWS
            )
        for part in self.parts:
            yield from encoded_batches(part.select(list(columns)))


def as_frame(table: pa.Table) -> pl.DataFrame:
    """An Arrow table as a data frame."""
    converted = pl.from_arrow(table)
    assert isinstance(converted, pl.DataFrame)
    return converted


def encoded_batches(table: pa.Table) -> Iterator[pa.RecordBatch]:
    """A table piece by piece; words as dictionaries."""
    for batch in table.to_batches(max_chunksize=BATCH_ROWS):
        arrays = [
            array.dictionary_encode() if _is_text(array.type) else array for array in batch.columns
        ]
        yield pa.record_batch(arrays, names=batch.schema.names)


def _is_text(kind: pa.DataType) -> bool:
    text = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    return any(check(kind) for check in text)
