"""Asker agent: asks a store one thing and keeps the answer as an Arrow file."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import polars as pl

from streambed.agents.agent import read_order
from streambed.errors import StoreError, StreambedError
from streambed.record import now_ns
from streambed.record.orders import StoreQueryOrder
from streambed.stores.store import Answer, connect

PATIENCE_NS = 10_000_000_000
AGAIN_S = 0.05
PLAIN = (bool, int, float, str, bytes, type(None))
DATED = ("datetime", "decimal")
"""Modules whose values a data frame can keep as they are."""


def frame_of(answer: Answer) -> pl.DataFrame:
    """An answer as a data frame; columns of one name are told apart, values that a frame cannot
    keep become text.
    """
    names: list[str] = []
    for column in answer.columns:
        names.append(f"{column}_{names.count(column) + 1}" if column in names else column)
    columns = {name: [_kept(row[at]) for row in answer.rows] for at, name in enumerate(names)}
    return pl.DataFrame(
        {name: pl.Series(name, values, strict=False) for name, values in columns.items()}
    )


def _kept(value: Any) -> Any:
    return value if isinstance(value, PLAIN) or type(value).__module__ in DATED else str(value)


def ask(order: StoreQueryOrder) -> Answer:
    """Ask, again for a while if the store does not answer: another program may be writing its file
    just now.
    """
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
            time.sleep(AGAIN_S)


def main(order: StoreQueryOrder) -> None:
    """Ask, and keep the answer or the refusal beside it."""
    kept = Path(order.answer)
    try:
        frame_of(ask(order)).write_ipc(kept)
    except StreambedError as error:
        kept.with_suffix(".json").write_text(
            json.dumps({"status": error.exit_status, "says": str(error)})
        )


if __name__ == "__main__":
    main(read_order(StoreQueryOrder))
