"""Tables of a finished run, as Parquet. Not in tables.py, so that agents do not load Parquet."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from streambed.record import write_whole
from streambed.record.tables import add_later_columns, damaged_table


def write(path: Path, table: pa.Table) -> None:
    """Write a table atomically, with checksums."""
    content = io.BytesIO()
    pq.write_table(table, content, compression="zstd", write_page_checksum=True)
    write_whole(path, content.getvalue())


def read_unchecked(path: Path) -> pa.Table:
    """The table in a file, with any columns."""
    # Not with polars: it ignores checksums, and some damage makes it abort the whole program.
    table = pq.read_table(path, page_checksum_verification=True)
    table.validate(full=True)
    return table


def read(path: Path, schema: pa.Schema) -> pa.Table:
    """The table in a file; FormatError if it is damaged. Files of older versions have no
    checksums.
    """
    try:
        table = read_unchecked(path)
        table = add_later_columns(table, schema)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise damaged_table(path, str(error)) from error
    _refuse_unknown(path, table.column_names, schema)
    return table


def check_footer(path: Path, schema: pa.Schema) -> None:
    """FormatError if the file is truncated or is of another table. Reads no row."""
    with _open(path) as file:
        _refuse_unknown(path, file.schema_arrow.names, schema)


def batches(
    path: Path, schema: pa.Schema, *, columns: Sequence[str], rows: int
) -> Iterator[pa.RecordBatch]:
    """Some columns of a table, at most `rows` at once; words as dictionaries. FormatError if one of
    their pages is damaged.
    """
    words = [field.name for field in schema if pa.types.is_string(field.type)]
    with _open(path, words) as file:
        present = [name for name in columns if name in file.schema_arrow.names]
        try:
            for batch in file.iter_batches(rows, columns=present, use_threads=True):
                batch.validate(full=True)
                table = add_later_columns(pa.Table.from_batches([batch]), schema)
                yield from table.select(list(columns)).to_batches()
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            raise damaged_table(path, str(error)) from error


def _open(path: Path, words: Sequence[str] = ()) -> pq.ParquetFile:
    try:
        return pq.ParquetFile(path, read_dictionary=words, page_checksum_verification=True)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise damaged_table(path, str(error)) from error


def _refuse_unknown(path: Path, names: Sequence[str], schema: pa.Schema) -> None:
    unknown = set(names) - set(schema.names)
    if unknown:
        raise damaged_table(path, f"it has columns of another table: {', '.join(sorted(unknown))}")
