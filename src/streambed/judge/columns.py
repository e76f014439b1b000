"""Columns of the ledger as arrays of numbers. A word gets a number when it is first read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
from pyarrow import compute

from streambed.record.history import Ledger
from streambed.record.ledger import schemas

Int8s = npt.NDArray[np.int8]
Int16s = npt.NDArray[np.int16]
Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Numbers = npt.NDArray[Any]

NONE = -1
"""Stands for null in every column: no identity, no offset, no transaction."""


class Names:
    """Words and their numbers: the first word that is asked for is 0, the next 1."""

    def __init__(self) -> None:
        self.words: list[str] = []
        self._numbers: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self.words)

    def number(self, word: str) -> int:
        """The number of a word; a new one if it has none."""
        if word not in self._numbers:
            self._numbers[word] = len(self.words)
            self.words.append(word)
        return self._numbers[word]

    def known(self, word: str) -> int:
        """The number of a word; NONE if it was never read."""
        return self._numbers.get(word, NONE)

    def encode(self, column: pa.DictionaryArray) -> Int32s:
        """The number of each row's word; NONE for null."""
        numbers = [NONE if word is None else self.number(word) for word in _words(column)]
        codes = np.array([*numbers, NONE], np.int32)  # The last one is for null.
        indices = column.indices
        if indices.null_count:
            indices = compute.fill_null(indices, len(numbers))
        encoded: Int32s = codes[indices.to_numpy(zero_copy_only=False)]
        return encoded


def _words(column: pa.DictionaryArray) -> list[str | None]:
    words: list[str | None] = column.dictionary.to_pylist()
    return words


def numbers(column: pa.Array, kind: type[np.generic], null: int = NONE) -> Numbers:
    """A column of numbers as an array; `null` for null."""
    if column.null_count == len(column):
        return np.full(len(column), null, kind)
    if column.null_count:
        column = compute.fill_null(column, pa.scalar(null, column.type))
    values: Numbers = column.to_numpy(zero_copy_only=False)
    return values.astype(kind, copy=False)


class RunIndex:
    """Finds rows in an array of rising numbers, fast where they come in runs of neighbours."""

    def __init__(self, rising: Int64s) -> None:
        first = np.ones(len(rising), bool)
        np.not_equal(rising[1:], rising[:-1], out=first[1:])
        rows = np.flatnonzero(first)  # A number that occurs twice is found at its first row.
        keys = rising if len(rows) == len(rising) else rising[rows]
        begins = np.ones(len(rows), bool)
        begins[1:] = (keys[1:] - keys[:-1] != 1) | (rows[1:] - rows[:-1] != 1)
        runs = np.flatnonzero(begins)
        self._keys: Int64s = keys[runs]
        self._rows: Int64s = rows[runs]
        self._lengths: Int64s = np.diff(np.append(runs, len(rows)))

    def rows(self, wanted: Int64s) -> Int64s:
        """The row of each number; NONE if it is not there."""
        if not len(self._keys):
            return np.full(len(wanted), NONE, np.int64)
        run = np.searchsorted(self._keys, wanted, side="right")
        run -= 1
        np.maximum(run, 0, out=run)
        after = wanted - self._keys[run]
        inside = (after >= 0) & (after < self._lengths[run])
        after += self._rows[run]
        return np.where(inside, after, NONE)


LONG = 1 << 16
"""Rows from which it pays to hold a column of one value as that value."""


class Rows:
    """Arrays that grow by pieces; room for all rows is taken once."""

    def __init__(self, **kinds: type[np.generic]) -> None:
        self._pieces: dict[str, list[Numbers]] = {name: [] for name in kinds}
        self._kinds = kinds

    def add(self, **pieces: Numbers) -> None:
        """Append rows, an array for each column."""
        for name, piece in pieces.items():
            self._pieces[name].append(_compact(piece, self._kinds[name]))

    def take(self, name: str) -> Numbers:
        """One whole column. It can be taken once: its pieces are released. A long column of one
        value takes no room and cannot be written to.
        """
        pieces = self._pieces.pop(name)
        length = sum(map(len, pieces))
        if length >= LONG and _is_one_value(pieces):
            return np.broadcast_to(pieces[0][:1].copy(), length)
        whole = np.empty(length, self._kinds[name])
        end = len(whole)
        while pieces:
            piece = pieces.pop()
            whole[end - len(piece) : end] = piece
            end -= len(piece)
        return whole


def _compact(piece: Numbers, kind: type[np.generic]) -> Numbers:
    """A copy of a piece, so that its batch can be freed."""
    if len(piece) and piece[0] == piece[-1] and bool((piece == piece[0]).all()):
        return np.broadcast_to(piece[:1].astype(kind), len(piece))
    return piece.astype(kind, copy=True)


def holds_one_value(column: Numbers) -> bool:
    """Whether a column is one value, held once."""
    return column.strides == (0,)


def _is_one_value(pieces: list[Numbers]) -> bool:
    alike = all(holds_one_value(piece) for piece in pieces if len(piece))
    return alike and len({piece[0].item() for piece in pieces if len(piece)}) == 1


def batches_of_topic(
    ledger: Ledger, table: str, topic: str, columns: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    """Some columns of the rows of a topic, piece by piece."""
    for batch in ledger.batches(table, ["topic", *columns]):
        topics = batch.column(0)
        wanted = [number for number, word in enumerate(_words(topics)) if word == topic]
        if not wanted:
            continue
        rest = batch.select(list(columns))
        if len(topics.dictionary) == 1 and not topics.null_count:
            yield rest
            continue
        yield rest.filter(compute.equal(topics.indices, wanted[0]))


def frame_of_topic(ledger: Ledger, table: str, topic: str, columns: Sequence[str]) -> pl.DataFrame:
    """Some columns of the rows of a topic as a data frame."""
    schema = pa.schema([schemas.TABLES[table].field(name) for name in columns])
    pieces = [batch.cast(schema) for batch in batches_of_topic(ledger, table, topic, columns)]
    frame = pl.from_arrow(pa.Table.from_batches(pieces, schema))
    assert isinstance(frame, pl.DataFrame)
    return frame
