"""Ledgers that programs of the user hand in: Parquet files in the folder `handed_in` of a run.

A file `sent*.parquet` has the columns of the table `sent`, a file `seen*.parquet` those of `seen`
(docs/results.md). A Python program calls `streambed.hand_in`; any other writes the file itself.
A file that is not as it should be is never used in part: its rows would look like loss.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
from pyarrow import compute

from streambed.errors import FormatError, suggestion
from streambed.record import HANDED_IN, file_name, parquet_files
from streambed.record.ledger.schemas import SEEN, SENT
from streambed.record.tables import KeyHashes

Name = Literal["sent", "seen"]
LEDGERS: dict[Name, pa.Schema] = {"sent": SENT, "seen": SEEN}
NEEDED = {"sent": ("producer", "sequence", "topic", "due"), "seen": ("consumer", "topic", "seen")}
"""Columns that must be there and hold no null."""
TIMES = {"sent": ("due", "sent", "acked"), "seen": ("seen",)}
OWNERS = {"sent": "producer", "seen": "consumer"}
UNKNOWN = -1
"""A partition, an offset or a timestamp that the program does not know."""


@dataclass(frozen=True, kw_only=True)
class Span:
    """When a run began and ended; `end` is None while it is running."""

    start: int
    end: int | None = None


def hand_in(ledger: Name, columns: Mapping[str, Sequence[Any]]) -> Path:
    """Hand in the ledger of the calling program: every record that it sent, or has seen.

    `columns` are those of docs/results.md; times are `time.monotonic_ns()`. Those that are unknown
    may be left out; `producer`, or `consumer`, is then the component of the program. `key` may hold
    the keys themselves. Another call replaces what this process handed in before.
    """
    table = pa.table(dict(columns))
    owner = OWNERS[ledger]
    if owner not in table.column_names:
        component = pa.repeat(os.environ["STREAMBED_COMPONENT"], len(table))
        table = table.append_column(owner, component)
    process, incarnation = os.environ["STREAMBED_PROCESS"], os.environ["STREAMBED_INCARNATION"]
    file = f"{ledger}-{file_name(process)}-{incarnation}.parquet"
    path = Path(os.environ["STREAMBED_HAND_IN"]) / file
    parquet_files.write(path, check(path, ledger, table))
    return path


def paths(directory: Path, ledger: Name) -> list[Path]:
    """The files of one ledger that were handed in to a run."""
    return sorted((directory / HANDED_IN).glob(f"{ledger}*.parquet"))


def read(path: Path, ledger: Name, span: Span) -> pa.Table:
    """The ledger in a file; FormatError, with the name of the column, if it cannot be used."""
    try:
        table = parquet_files.read_unchecked(path)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise _refusal(path, f"it cannot be read ({error}); perhaps it is only half written") from (
            error
        )
    checked = check(path, ledger, table)
    for name in TIMES[ledger]:
        _check_times(path, name, checked[name], span)
    return checked


def check(path: Path, ledger: Name, table: pa.Table) -> pa.Table:
    """The table with exactly the columns of its ledger; FormatError if it lacks one."""
    schema = LEDGERS[ledger]
    for name in table.column_names:
        if name not in schema.names:
            hint = suggestion(name, schema.names)
            raise _refusal(path, f"the ledger '{ledger}' has no column '{name}'. {hint}")
    columns = [_column(path, ledger, table, field) for field in schema]
    checked = pa.table(columns, schema=schema)
    if ledger == "sent":
        _check_identities(path, checked)
    return checked


def _column(path: Path, ledger: Name, table: pa.Table, field: pa.Field) -> pa.ChunkedArray:
    if field.name not in table.column_names:
        if field.name in NEEDED[ledger]:
            raise _refusal(path, f"the column '{field.name}' is missing")
        values = pa.chunked_array([pa.nulls(len(table), field.type)])
    else:
        values = _convert_column(path, table[field.name], field)
    if field.name in NEEDED[ledger] and values.null_count:
        count = values.null_count
        raise _refusal(path, f"the column '{field.name}' must not be null: {count} rows are")
    if field.name == "group":
        return _filled_groups(values, table)
    if field.name in ("partition", "offset", "timestamp"):
        return values.fill_null(UNKNOWN)
    return values


def _filled_groups(values: pa.ChunkedArray, table: pa.Table) -> pa.ChunkedArray:
    """A consumer without a group is a group with one member."""
    pairs = zip(values.to_pylist(), table["consumer"].to_pylist(), strict=True)
    return pa.chunked_array([[group or consumer for group, consumer in pairs]], pa.string())


def _convert_column(path: Path, values: pa.ChunkedArray, field: pa.Field) -> pa.ChunkedArray:
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    if field.name == "key" and not pa.types.is_integer(values.type):
        values = _hashes(values)
    wanted = _is_text if _is_text(field.type) else pa.types.is_integer
    if not (wanted(values.type) or pa.types.is_null(values.type)):
        found = f"the column '{field.name}' holds {values.type}"
        raise _refusal(path, f"{found}, but {field.type} is needed")
    try:
        return values.cast(field.type)
    except pa.ArrowException as error:
        raise _refusal(path, f"the column '{field.name}' does not fit: {error}") from error


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _hashes(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Keys as hashes, if they are text or bytes."""
    binary = pa.types.is_binary(values.type) or pa.types.is_large_binary(values.type)
    if not (binary or _is_text(values.type)):
        return values
    hashes = KeyHashes()
    keys = values.cast(pa.binary()).to_pylist()
    return pa.chunked_array([[hashes[key] or None for key in keys]], pa.int64())


def _check_identities(path: Path, table: pa.Table) -> None:
    """A record that is listed twice would be counted twice."""
    distinct = table.group_by(["producer", "sequence"]).aggregate([])
    if len(distinct) < len(table):
        twice = len(table) - len(distinct)
        raise _refusal(path, f"the columns 'producer' and 'sequence' repeat in {twice} rows")


def _check_times(path: Path, name: str, values: pa.ChunkedArray, span: Span) -> None:
    """A time outside the run is of another clock, and would be a wrong latency."""
    early, late = compute.min_max(values).as_py().values()
    if early is None:
        return
    if early < span.start or (span.end is not None and late > span.end):
        wrong = early if early < span.start else late
        raise _refusal(
            path,
            f"the column '{name}' has times outside the run, such as {wrong}: give nanoseconds of "
            "the monotonic clock (CLOCK_MONOTONIC)",
        )


def _refusal(path: Path, reason: str) -> FormatError:
    return FormatError(
        f"{path}, which a program handed in, cannot be used: {reason}. Correct the program, or "
        "remove the file and judge the run again without it (streambed check)"
    )
