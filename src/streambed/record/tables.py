"""Tables of a run as Arrow files, which they are while the run lasts."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

import pyarrow as pa

from streambed.errors import FormatError
from streambed.record import now_ns
from streambed.record.ledger.schemas import ADDED_LATER

FLUSH_NS = 1_000_000_000
MESSAGE_MARK = b"\xff\xff\xff\xff"
"""Every message of an Arrow stream begins with it."""
ALIGNMENT = 8
"""Messages begin at multiples of this many bytes."""
END_MARK = MESSAGE_MARK + bytes(4)
"""What closing an Arrow stream writes."""

NO_KEY = 0
"""A missing key where a column cannot be null. No key has this hash."""
KEYS_MAX = 100_000
"""Hashes held at once."""


def key_hash(key: bytes) -> int:
    """The column `key`: the first 8 bytes of the key's SHA-256, as a signed little-endian number.

    0 becomes 1, because 0 is NO_KEY.
    """
    return int.from_bytes(hashlib.sha256(key).digest()[:8], "little", signed=True) or 1


class KeyHashes(dict[bytes | None, int]):
    """The hash of each key, computed once per key; NO_KEY for None."""

    def __missing__(self, key: bytes | None) -> int:
        if len(self) >= KEYS_MAX:
            self.clear()
        self[key] = NO_KEY if key is None else key_hash(key)
        return self[key]


class Table:
    """Rows appended in memory and flushed once a second as Arrow IPC, so that a killed run loses at
    most one second.
    """

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
        """Write many rows at once, one sequence per column. Build a column that is used again with
        `column`.
        """
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
            columns = [
                _array(values, kind)
                for values, kind in zip(
                    zip(*self._rows, strict=True), self._schema.types, strict=True
                )
            ]
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

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _array(values: tuple[Any, ...], kind: pa.DataType) -> pa.Array:
    """A column; fast if all rows hold the same string, as names often do."""
    if pa.types.is_string(kind) and values.count(values[0]) == len(values):
        return pa.repeat(pa.scalar(values[0], kind), len(values))
    return pa.array(values, kind)


def column(words: Sequence[str]) -> pa.Array:
    """A column of words, to be appended more than once."""
    return pa.array(words, pa.string())


@dataclass(frozen=True, kw_only=True)
class TableEnd:
    """How the Arrow file of a table ends.

    - complete: its writer closed it.
    - cut_off: the last bytes are missing, because its writer still writes or was killed. Every
      whole batch can be read.
    - corrupt: bytes before the end are wrong or unreadable, so batches are missing that were once
      written.
    """

    state: Literal["complete", "cut_off", "corrupt"]
    reason: str = ""
    """What is wrong with it, if it is corrupt."""


@dataclass(frozen=True, kw_only=True)
class TablePart:
    """What one Arrow file holds: its whole batches as one table, and how it ends."""

    table: pa.Table
    end: TableEnd


def read_part(path: Path, schema: pa.Schema) -> TablePart:
    """All that can be read of one Arrow file, up to the first batch that is not whole."""
    batches: list[pa.RecordBatch] = []
    end = _read_batches(path, schema, batches)
    tables = [add_later_columns(pa.Table.from_batches([batch]), schema) for batch in batches]
    return TablePart(table=pa.concat_tables([schema.empty_table(), *tables]), end=end)


def add_later_columns(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """The table of an older run with the columns that were added later, as null."""
    for name in ADDED_LATER.get(schema, ()):
        if name not in table.column_names:
            table = table.append_column(name, pa.nulls(len(table), schema.field(name).type))
    return table


def read_table(path: Path, schema: pa.Schema) -> pa.Table:
    """Everything flushed into one Arrow file; FormatError if it is corrupt."""
    part = read_part(path, schema)
    if part.end.state == "corrupt":
        raise damaged_table(path, part.end.reason)
    return part.table


def damaged_table(path: Path, reason: str) -> FormatError:
    """The error for a table that does not hold everything that was written into it."""
    return FormatError(
        f"{path} is damaged: {reason}. What it still holds may look like loss, so it is not used. "
        "Restore the file from a copy of the run, or run the experiment again"
    )


def _read_batches(path: Path, schema: pa.Schema, batches: list[pa.RecordBatch]) -> TableEnd:
    """Append the whole batches to `batches`. Returns how the file ends."""
    with pa.OSFile(str(path)) as file:
        size, start = file.size(), 0
        try:
            found = schema
            for number, message in enumerate(pa.ipc.MessageReader.open_stream(file)):
                if number == 0:
                    found = _schema_in(message, schema)
                else:
                    batches.append(_batch_in(message, found))
                start = file.tell()
        except (pa.ArrowException, OSError) as error:
            return _failure(error, start, _rest(file, start, size))
        return _end_of(start, _rest(file, start, size))


def _rest(file: pa.NativeFile, start: int, size: int) -> bytes:
    """What follows the last whole batch, without what a writer has added meanwhile: half of that
    would look like damage.
    """
    seen = max(size, file.tell())
    file.seek(start)
    rest: bytes = file.read(seen - start)
    return rest


def _schema_in(message: Any, schema: pa.Schema) -> pa.Schema:
    """The schema of a file: the expected one, perhaps without columns that were added later."""
    found = pa.ipc.read_schema(message)
    later = set(ADDED_LATER.get(schema, ())) - set(found.names)
    if not found.equals(pa.schema([field for field in schema if field.name not in later])):
        raise pa.ArrowInvalid("its columns are those of another table")
    return found


def _batch_in(message: Any, schema: pa.Schema) -> pa.RecordBatch:
    batch = pa.ipc.read_record_batch(message, schema)
    batch.validate(full=True)
    return batch


def _end_of(start: int, rest: bytes) -> TableEnd:
    """A stream that was closed ends with a mark, and nothing follows."""
    if not rest:
        return TableEnd(state="cut_off")
    if rest == END_MARK:
        return TableEnd(state="complete")
    return TableEnd(state="corrupt", reason=f"{len(rest)} bytes from byte {start} on are no batch")


def _failure(error: Exception, start: int, rest: bytes) -> TableEnd:
    """A killed writer leaves half a batch and nothing else; if more follows, bytes are wrong."""
    disk_failed = isinstance(error, OSError) and error.errno
    if not disk_failed and _is_half_a_message(rest):
        return TableEnd(state="cut_off")
    return TableEnd(state="corrupt", reason=f"the batch at byte {start} cannot be read ({error})")


def _is_half_a_message(rest: bytes) -> bool:
    """Whether these bytes are the beginning of one message and nothing more."""
    if not MESSAGE_MARK.startswith(rest[: len(MESSAGE_MARK)]):
        return False
    if len(rest) % ALIGNMENT == 0 and rest.endswith(END_MARK):
        return False  # Its writer closed the stream: nothing was cut off.
    return not any(_is_whole_message(rest, offset) for offset in _mark_offsets(rest))


def _mark_offsets(rest: bytes) -> Iterator[int]:
    """Offsets where a message may begin; content may happen to look like the mark."""
    offset = rest.find(MESSAGE_MARK)
    while offset >= 0:
        if offset % ALIGNMENT == 0:
            yield offset
        offset = rest.find(MESSAGE_MARK, offset + 1)


def _is_whole_message(rest: bytes, offset: int) -> bool:
    length = int.from_bytes(rest[offset + 4 : offset + 8], "little", signed=True)
    if length <= 0 or offset + 8 + length > len(rest):
        return False
    try:
        pa.ipc.read_message(pa.BufferReader(memoryview(rest)[offset:]))
    except (pa.ArrowException, OSError, EOFError):
        return False
    return True
