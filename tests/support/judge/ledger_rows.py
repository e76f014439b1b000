"""Rows of a story by what they are, for those who change them."""

from __future__ import annotations

from typing import Any

from streambed.plan import READ_BACKS, WITNESS
from tests.support.judge.stories import Story

Row = dict[str, Any]


def place(row: Row) -> tuple[int, int]:
    return row["partition"], row["offset"]


def identity(row: Row) -> tuple[str, int]:
    return row["producer"], row["sequence"]


def log_rows(run: Story) -> list[Row]:
    return [row for row in run.rows["seen"] if row["consumer"] == WITNESS]


def read_rows(run: Story) -> list[Row]:
    return [row for row in run.rows["seen"] if row["consumer"] not in READ_BACKS]


def tenure_of(row: Row) -> tuple[Any, ...]:
    return row["consumer"], row["life"], row["tenure"], row["partition"]


def visible_sends(run: Story) -> list[Row]:
    logged = {identity(row) for row in log_rows(run)}
    return [row for row in run.rows["sent"] if identity(row) in logged]


def remove(run: Story, unwanted: Row) -> None:
    run.rows["seen"] = [row for row in run.rows["seen"] if row is not unwanted]


def polls(run: Story) -> list[list[Row]]:
    """The rows of each poll of each tenure, in order."""
    found: dict[tuple[Any, ...], list[Row]] = {}
    for row in read_rows(run):
        found.setdefault((*tenure_of(row), row["seen"]), []).append(row)
    return list(found.values())
