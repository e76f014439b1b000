"""Names of records: `poet=17` is number 17 of the producer poet, `lines/0@812` a place in a log."""

from __future__ import annotations

import re
from dataclasses import dataclass

import polars as pl

from streambed.errors import UsageError, suggestion
from streambed.record.history import History

BY_IDENTITY = re.compile(r"(?P<producer>.+)=(?P<sequence>\d+)")
BY_PLACE = re.compile(r"(?P<topic>.+)/(?P<partition>\d+)@(?P<offset>\d+)")
FORMS = "write PRODUCER=NUMBER, as verdicts do (poet=17), or TOPIC/PARTITION@OFFSET (lines/0@812)"


@dataclass(frozen=True, kw_only=True)
class RecordName:
    """A record by its producer and sequence."""

    producer: str
    sequence: int

    def __str__(self) -> str:
        return f"{self.producer}={self.sequence}"

    def rows(self) -> pl.Expr:
        """Which rows of a ledger are about it."""
        return (pl.col("producer") == self.producer) & (pl.col("sequence") == self.sequence)


def find_record(history: History, text: str) -> RecordName:
    """The record that a user names; UsageError if the run has no such record."""
    if match := BY_PLACE.fullmatch(text):
        return _at_place(
            history, match["topic"], partition=int(match["partition"]), offset=int(match["offset"])
        )
    match = BY_IDENTITY.fullmatch(text)
    if match is None:
        raise UsageError(f"'{text}' names no record: {FORMS}")
    name = RecordName(producer=match["producer"], sequence=int(match["sequence"]))
    sent = history.ledger.sent
    if sent.filter(name.rows()).height or history.ledger.seen.filter(name.rows()).height:
        return name
    raise UsageError(_why_unknown(name, sent))


def _why_unknown(name: RecordName, sent: pl.DataFrame) -> str:
    """Why no ledger has a record of this name: its producer is unknown, or its number is."""
    producers = sent["producer"].unique().to_list()
    if name.producer not in producers:
        hint = suggestion(name.producer, producers)
        return f"no producer '{name.producer}' has a ledger in this run. {hint}"
    numbers = sent.filter(pl.col("producer") == name.producer)["sequence"]
    return (
        f"{name.producer} never sent number {name.sequence}: it sent "
        f"{numbers.min()!s} to {numbers.max()!s}"
    )


def _at_place(history: History, topic: str, *, partition: int, offset: int) -> RecordName:
    place = (
        (pl.col("topic") == topic)
        & (pl.col("partition") == partition)
        & (pl.col("offset") == offset)
    )
    for ledger in (history.ledger.sent, history.ledger.seen):
        rows = ledger.filter(place).drop_nulls("producer")
        if rows.height:
            producer, sequence = rows.select("producer", "sequence").row(0)
            return RecordName(producer=producer, sequence=sequence)
    topics = history.ledger.sent["topic"].unique().to_list()
    hint = suggestion(topic, topics) if topic not in topics else "Records of jobs have no number"
    raise UsageError(f"no producer's record is known at {topic}/{partition}@{offset}. {hint}")
