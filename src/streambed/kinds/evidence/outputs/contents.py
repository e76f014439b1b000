"""Topics with keys and values, as the witness kept them."""

from __future__ import annotations

import polars as pl

from streambed.plan import WITNESS
from streambed.record.history import History

ORDER = ["partition", "offset"]


def contents_of(history: History, topic: str) -> pl.DataFrame:
    """A topic in the order of partition and offset: partition, offset, timestamp, key, value.

    Keys and values that are not text in UTF-8 stay bytes.
    """
    of_topic = (pl.col("topic") == topic) & (pl.col("consumer") == WITNESS)
    kept = history.ledger.kept.filter(of_topic).select(*ORDER, "key", "value")
    seen = history.ledger.seen.filter(of_topic).select(
        *ORDER, timestamp=pl.from_epoch("timestamp", time_unit="ms")
    )
    contents = kept.join(seen, on=ORDER, how="left").sort(ORDER)
    texts = {name: _text(contents[name]) for name in ("key", "value")}
    return contents.select(*ORDER, "timestamp").with_columns(**texts)


def _text(column: pl.Series) -> pl.Series:
    try:
        return column.cast(pl.String)
    except pl.exceptions.PolarsError:
        return column
