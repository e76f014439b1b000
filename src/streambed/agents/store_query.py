"""Store query agent: runs one query in a store and writes the result as an Arrow file."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import polars as pl

from streambed.agents.agent import read_order
from streambed.errors import QueryError, StoreError, StreambedError
from streambed.record import now_ns
from streambed.record.codec import write_message
from streambed.record.orders import Refusal, StoreQueryOrder
from streambed.stores.store import QueryResult, connect

PATIENCE_NS = 10_000_000_000
RETRY_S = 0.05
PLAIN = (bool, int, float, str, bytes, type(None))
DATED = ("datetime", "decimal")
"""Modules whose values a data frame can hold unchanged."""


def frame_of(answer: QueryResult) -> pl.DataFrame:
    """A result as a data frame. Equal column names are numbered; values that a frame cannot hold
    become text.
    """
    names: list[str] = []
    for column in answer.columns:
        names.append(f"{column}_{names.count(column) + 1}" if column in names else column)
    columns = {}
    for at, name in enumerate(names):
        values = [_plain_value(row[at]) for row in answer.rows]
        columns[name] = pl.Series(name, values, strict=False)
    return pl.DataFrame(columns)


def _plain_value(value: Any) -> Any:
    if isinstance(value, PLAIN) or type(value).__module__ in DATED:
        return value
    return str(value)


def ask(order: StoreQueryOrder) -> QueryResult:
    """Run the query, with retries for a while: another program may be writing the store's file."""
    end_ns = now_ns() + PATIENCE_NS
    while True:
        try:
            store = connect(order.store, read_only=order.read_only)
            try:
                return store.ask(order.text)
            finally:
                store.close()
        except StoreError:
            if now_ns() > end_ns:
                raise
            time.sleep(RETRY_S)


def main(order: StoreQueryOrder) -> None:
    """Write the result, or the error as JSON beside it."""
    result = Path(order.answer)
    result.parent.mkdir(exist_ok=True)
    try:
        frame_of(ask(order)).write_ipc(result)
    except StreambedError as error:
        refusal = Refusal(says=str(error), query_wrong=isinstance(error, QueryError))
        write_message(result.with_suffix(".json"), refusal)


if __name__ == "__main__":
    main(read_order(StoreQueryOrder))
