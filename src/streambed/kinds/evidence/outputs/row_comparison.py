"""Two tables compared row by row: values of a store against what they must and may be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

SHOWN = 5
HERE = "\0here"
TIMES = "\0times"


@dataclass(frozen=True, kw_only=True)
class Compared:
    """The rows that are not as they should be."""

    count: int
    """Rows that are missing, too many, or different."""
    sure: int
    """Those that are certainly wrong; the others differ in columns without bounds."""
    shown: tuple[str, ...]
    """Some of them, for people."""


def compare_rows(
    rows: pl.DataFrame,
    least: pl.DataFrame,
    most: pl.DataFrame,
    key: Sequence[str],
    bounded: Sequence[str],
    tolerance: float,
) -> Compared:
    """Compare rows with the least and the most that they may be.

    A row must be there if it is in `least`, and may be there if it is in `most`. Columns in
    `bounded` lie between both; others must equal, and are open if `least` and `most` differ.
    """
    joined = _join(rows, least, most, key)
    wrong = _wrong_presence()
    opened = [pl.lit(False)]
    exact = least.equals(most)
    is_there = pl.col(HERE).is_not_null()
    for name in most.columns:
        if name in key:
            continue
        if name in bounded:
            differs = _outside(name, tolerance)
        else:
            differs = _differs(joined, name, tolerance)
        if name not in bounded and not exact:
            opened.append(differs)
            continue
        text = pl.format(f"{name} is {{}}, not {{}}", pl.col(name), pl.col(f"{name}\0most"))
        wrong.append(pl.when(is_there & differs).then(text))
    return _comparison(joined, key, pl.coalesce(*wrong), pl.any_horizontal(*opened))


def _wrong_presence() -> list[pl.Expr]:
    """What is wrong with how often a row is there; null if nothing is."""
    times = pl.col(TIMES)
    is_missing = pl.col(HERE).is_null() & pl.col(f"{HERE}\0least").is_not_null()
    return [
        pl.when(times > 1).then(pl.format("is there {} times", times)),
        pl.when(pl.col(f"{HERE}\0most").is_null()).then(pl.lit("is too many")),
        pl.when(is_missing).then(pl.lit("is missing")),
    ]


def has_several_rows(frame: pl.DataFrame, key: Sequence[str]) -> bool:
    """Whether a table has several rows for one key, so that rows cannot be matched by it."""
    return bool(frame.select(list(key)).is_duplicated().any())


def _comparison(
    joined: pl.DataFrame, key: Sequence[str], wrong: pl.Expr, opened: pl.Expr
) -> Compared:
    rows = joined.with_columns(wrong=wrong, opened=opened.fill_null(False))
    sure = rows.filter(pl.col("wrong").is_not_null())
    shown = [
        f"{', '.join(map(str, names))} {text}"
        for *names, text in sure.select(*key, "wrong").sort(key).head(SHOWN).iter_rows()
    ]
    more = [f"{sure.height - SHOWN} more"] if sure.height > SHOWN else []
    return Compared(
        count=rows.filter(pl.col("wrong").is_not_null() | pl.col("opened")).height,
        sure=sure.height,
        shown=(*shown, *more),
    )


def _join(
    rows: pl.DataFrame, least: pl.DataFrame, most: pl.DataFrame, key: Sequence[str]
) -> pl.DataFrame:
    times = pl.len().over([pl.col(name) for name in key])
    joined = _side(rows, key, "").with_columns(times.alias(TIMES))
    joined = joined.unique(list(key), keep="first", maintain_order=True)
    for side in (_side(least, key, "\0least"), _side(most, key, "\0most")):
        joined = joined.join(side, on=list(key), how="full", coalesce=True, nulls_equal=True)
    return joined


def _side(frame: pl.DataFrame, key: Sequence[str], suffix: str) -> pl.DataFrame:
    """One table with keys as text, and the suffix at the name of every other column."""
    columns = [
        pl.col(name).cast(pl.String) if name in key else _comparable(frame[name]).alias(name)
        for name in frame.columns
    ]
    names = {name: f"{name}{suffix}" for name in frame.columns if name not in key}
    return frame.select(columns).rename(names).with_columns(pl.lit(1).alias(f"{HERE}{suffix}"))


def _comparable(column: pl.Series) -> pl.Series:
    """Numbers as one type, everything else as text."""
    if column.dtype.is_integer():
        return column.cast(pl.Int64)
    if column.dtype.is_numeric():
        return column.cast(pl.Float64)
    return column.cast(pl.String)


def _differs(joined: pl.DataFrame, name: str, tolerance: float) -> pl.Expr:
    one, other = pl.col(name), pl.col(f"{name}\0most")
    both = (joined.schema[name], joined.schema[f"{name}\0most"])
    if all(dtype.is_numeric() for dtype in both):
        return ((one - other).abs() > tolerance).fill_null(one.is_null() != other.is_null())
    return one.cast(pl.String).ne_missing(other.cast(pl.String))


def _outside(name: str, tolerance: float) -> pl.Expr:
    """Whether a count lies below the least or above the most; a missing one is 0."""
    value, low, high = (pl.col(f"{name}{side}").fill_null(0) for side in ("", "\0least", "\0most"))
    return (value < low - tolerance) | (value > high + tolerance)
