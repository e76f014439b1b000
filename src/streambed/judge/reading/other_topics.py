"""The parts of a topic's transactions that are in other topics."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from streambed.judge.arrays import Topic
from streambed.judge.columns import Int64s
from streambed.plan import WITNESS
from streambed.record.ledger.schemas import Outcome

SENT_COLUMNS = (
    "topic",
    "producer",
    "life",
    "transaction",
    "sequence",
    "partition",
    "offset",
    "outcome",
)
TRANSACTION = ["producer", "life", "transaction"]
RECORD = ["topic", "producer", "sequence"]


@dataclass(frozen=True, kw_only=True)
class OtherParts:
    """For each transaction, its records in other topics that were read back."""

    whole: Int64s
    visible: Int64s
    lost: dict[int, str]
    """A record of the transaction that another topic lacks, for people."""


def other_parts(topic: Topic, compacted: frozenset[str]) -> OtherParts:
    """What other topics hold of the transactions of a topic. Compacted topics are left out."""
    count = len(topic.transactions)
    parts = _parts(topic, compacted)
    whole = np.bincount(parts["number"].to_numpy(), minlength=count)
    shown = parts.filter("shown")["number"].to_numpy()
    visible = np.bincount(shown, minlength=count)
    hidden = parts.filter(~pl.col("shown")).unique("number", maintain_order=True)
    lost = {
        number: f"{producer}={sequence} of {other}"
        for number, other, producer, sequence in hidden.select("number", *RECORD).iter_rows()
    }
    return OtherParts(whole=whole, visible=visible, lost=lost)


def _parts(topic: Topic, compacted: frozenset[str]) -> pl.DataFrame:
    """Each record in another topic: `number` of its transaction, and whether it is `shown`."""
    starts = _read_back_starts(topic).filter(~pl.col("topic").is_in(list(compacted)))
    sent = _sent_in_transactions(topic).join(_numbers(topic), on=TRANSACTION)
    sent = sent.join(starts, on=["topic", "partition"])
    # A record that retention deleted is not missing. Without an offset it is unknown.
    sent = sent.filter(pl.col("offset") >= pl.col("start"))
    seen = _witnessed(topic, sent["topic"].unique().to_list())
    return sent.join(seen, on=RECORD, how="left", maintain_order="left").with_columns(
        shown=pl.col("shown").fill_null(False)
    )


def _read_back_starts(topic: Topic) -> pl.DataFrame:
    """Where the witness began to read each partition of other topics."""
    rows = topic.ledger.assignments.filter(
        (pl.col("consumer") == WITNESS)
        & (pl.col("change") == "assigned")
        & (pl.col("topic") != topic.name)
    )
    return rows.group_by("topic", "partition").agg(start=pl.col("offset").min())


def _numbers(topic: Topic) -> pl.DataFrame:
    table = topic.transactions
    names = [topic.clients.words[client] for client in table.client]
    return pl.DataFrame(
        {
            "producer": pl.Series(names, dtype=pl.String),
            "life": pl.Series(table.life, dtype=pl.Int16),
            "transaction": pl.Series(table.number, dtype=pl.Int32),
            "number": np.arange(len(table), dtype=np.int64),
        }
    )


def _sent_in_transactions(topic: Topic) -> pl.DataFrame:
    chosen = (
        pl.col("transaction").is_not_null()
        & (pl.col("topic") != topic.name)
        & (pl.col("outcome") != int(Outcome.NOT_WRITTEN))
    )
    return pl.concat([frame.filter(chosen) for frame in _frames(topic, "sent", SENT_COLUMNS)])


def _witnessed(topic: Topic, topics: list[str]) -> pl.DataFrame:
    if not topics:
        frames = [next(_frames(topic, "seen", (*RECORD, "consumer"))).clear()]
    else:
        chosen = (pl.col("consumer") == WITNESS) & pl.col("topic").is_in(topics)
        frames = [frame.filter(chosen) for frame in _frames(topic, "seen", (*RECORD, "consumer"))]
    return pl.concat(frames).select(RECORD).unique().with_columns(shown=pl.lit(True))


def _frames(topic: Topic, table: str, columns: tuple[str, ...]) -> Iterator[pl.DataFrame]:
    """Some columns of a table piece by piece, with an empty piece first."""
    yield pl.DataFrame(schema=_schema(columns))
    for batch in topic.ledger.batches(table, columns):
        frame = pl.from_arrow(batch)
        assert isinstance(frame, pl.DataFrame)
        yield frame.cast(_schema(columns))


_KINDS: dict[str, type[pl.DataType]] = {
    "life": pl.Int16,
    "transaction": pl.Int32,
    "sequence": pl.Int64,
    "partition": pl.Int32,
    "offset": pl.Int64,
    "outcome": pl.Int8,
}


def _schema(columns: tuple[str, ...]) -> pl.Schema:
    return pl.Schema({column: _KINDS.get(column, pl.String) for column in columns})


NO_OTHER_PARTS = OtherParts(whole=np.empty(0, np.int64), visible=np.empty(0, np.int64), lost={})
"""Of a topic without transactions."""
