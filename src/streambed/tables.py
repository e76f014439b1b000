"""The tables of a run: samples, and the ledger's two. Appended in memory, kept as Arrow while the run lasts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyarrow as pa

from streambed.record import now_ns

FLUSH_NS = 1_000_000_000

SAMPLES = pa.schema({"time": pa.int64(), "metric": pa.string(), "of": pa.string(), "value": pa.float64()})
SENT = pa.schema(
    {
        "producer": pa.string(),
        "sequence": pa.int64(),
        "topic": pa.string(),
        "partition": pa.int32(),
        "offset": pa.int64(),
        "due": pa.int64(),
        "sent": pa.int64(),
        "acked": pa.int64(),
        "error": pa.string(),
    }
)
SEEN = pa.schema(
    {
        "consumer": pa.string(),
        "group": pa.string(),
        "topic": pa.string(),
        "partition": pa.int32(),
        "offset": pa.int64(),
        "producer": pa.string(),
        "sequence": pa.int64(),
        "seen": pa.int64(),
        "timestamp": pa.int64(),
    }
)

KEPT = pa.schema(
    {"consumer": pa.string(), "topic": pa.string(), "partition": pa.int32(), "offset": pa.int64(), "key": pa.binary(), "value": pa.binary()}
)


class Table:
    """Rows appended in memory and flushed once a second as Arrow IPC, so that a killed run loses a second at most."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self._schema = schema
        self._file = path.open("wb")
        self._writer = pa.ipc.new_stream(self._file, schema)
        self._rows: list[tuple[Any, ...]] = []
        self._flushed_ns = now_ns()

    def append(self, *row: Any) -> None:
        """Add one row, its values in the order of the schema."""
        self._rows.append(row)

    def extend(self, rows: Iterable[tuple[Any, ...]]) -> None:
        """Add many rows."""
        self._rows.extend(rows)

    def append_columns(self, *columns: Sequence[Any] | pa.Array) -> None:
        """Add many rows at once, one sequence per column, and hand them over. One that comes again may be a `column` made once."""
        arrays = [
            values if isinstance(values, pa.Array) else pa.array(values, kind)
            for values, kind in zip(columns, self._schema.types, strict=True)
        ]
        self._writer.write_batch(pa.record_batch(arrays, schema=self._schema))

    def flush_if_due(self) -> None:
        """Flush if a second has passed since the last time."""
        if now_ns() - self._flushed_ns >= FLUSH_NS:
            self.flush()

    def flush(self) -> None:
        """Hand everything over to the kernel."""
        self._flushed_ns = now_ns()
        if self._rows:
            columns = [_array(values, kind) for values, kind in zip(zip(*self._rows, strict=True), self._schema.types, strict=True)]
            self._rows = []
            self._writer.write_batch(pa.record_batch(columns, schema=self._schema))
        self._file.flush()

    def close(self) -> None:
        """Flush and end the stream."""
        self.flush()
        self._writer.close()
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def _array(values: tuple[Any, ...], kind: pa.DataType) -> pa.Array:
    """A column; one that says the same in all rows, as names often do, takes little time."""
    if pa.types.is_string(kind) and values.count(values[0]) == len(values):
        return pa.repeat(pa.scalar(values[0], kind), len(values))
    return pa.array(values, kind)


def column(words: Sequence[str]) -> pa.Array:
    """A column of words, to be appended more than once."""
    return pa.array(words, pa.string())


def batches(path: Path) -> Iterator[pa.RecordBatch]:
    """The whole batches of an Arrow stream; a file that was cut off in the middle ends with its last whole one."""
    with path.open("rb") as file:
        try:
            yield from pa.ipc.open_stream(file)
        except (pa.ArrowInvalid, OSError):
            return


def read_table(path: Path, schema: pa.Schema) -> pa.Table:
    """All that was flushed into one Arrow file."""
    return pa.Table.from_batches(list(batches(path)), schema=schema)
