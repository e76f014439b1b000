"""Tables of a finished run, as Parquet. Not in tables.py, so that agents do not load Parquet."""

from __future__ import annotations

import io
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from streambed.record import write_whole
from streambed.record.tables import damaged


def write(path: Path, table: pa.Table) -> None:
    """Write a table atomically, with checksums."""
    content = io.BytesIO()
    pq.write_table(table, content, compression="zstd", write_page_checksum=True)
    write_whole(path, content.getvalue())


def read(path: Path, schema: pa.Schema) -> pa.Table:
    """The table in a file; FormatError if it is damaged. Files of older versions have no
    checksums.
    """
    # Not with polars: it ignores checksums, and some damage makes it abort the whole program.
    try:
        table = pq.read_table(path, page_checksum_verification=True)
        table.validate(full=True)
        unknown = set(table.column_names) - set(schema.names)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise damaged(path, str(error)) from error
    if unknown:
        raise damaged(path, f"it has columns of another table: {', '.join(sorted(unknown))}")
    return table
