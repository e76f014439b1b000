"""How outputs of a pipeline name the input that they were made of."""

from __future__ import annotations

import polars as pl
from pydantic import model_validator

from streambed.kinds.declaring import declared
from streambed.kinds.evidence.outputs.input_log import (
    ELSEWHERE,
    UNNAMED,
    InputLog,
    Numbers,
    places_of,
    records_of,
)

SOURCE_COLUMNS = ("topic", "partition", "offset")
RECORD_TEXT = r"^(.+)/(\d+)$"


@declared
class Identity:
    """Where an output names its input: columns of a row, or JSON paths of a value.

    Either `partition` and `offset` of the source record, with its `topic` if there are several, or
    `record` with PRODUCER/SEQUENCE.
    """

    topic: str = ""
    """Holds the topic of the source record; without it, all are of the checked topic."""
    partition: str = ""
    """Holds the partition of the source record."""
    offset: str = ""
    """Holds the offset of the source record."""
    record: str = ""
    """Holds PRODUCER/SEQUENCE, as in poet/12."""

    @model_validator(mode="after")
    def _is_whole(self) -> Identity:
        by_place = bool(self.partition and self.offset)
        if bool(self.partition) != bool(self.offset) or by_place == bool(self.record):
            raise ValueError("give partition and offset, or record")
        if self.record and self.topic:
            raise ValueError("record needs no topic: leave it out")
        return self

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the outputs that it names."""
        named = (self.topic, self.partition, self.offset, self.record)
        return tuple(column for column in named if column)

    @property
    def by_place(self) -> bool:
        """Whether it names the place of the source record in the log, not the record."""
        return not self.record

    @property
    def text(self) -> str:
        """How it identifies an input, for people."""
        return "source offset" if self.by_place else f"producer and sequence in {self.record}"


OF_SINKS = Identity(topic="topic", partition="partition", offset="offset")
"""The columns of every sink's table."""


def index_of_rows(rows: pl.DataFrame, identity: Identity, log: InputLog) -> Numbers:
    """The index in the log of the record that each row names; ELSEWHERE if that is of another
    topic.
    """
    if identity.record:
        text = rows[identity.record].cast(pl.String)
        producers = text.str.extract(RECORD_TEXT, 1)
        sequences = text.str.extract(RECORD_TEXT, 2).cast(pl.Int64, strict=False)
        return log.index_of_records(records_of(producers, sequences, log.producers))
    partitions = rows[identity.partition].cast(pl.Int64, strict=False)
    offsets = rows[identity.offset].cast(pl.Int64, strict=False)
    places = places_of(partitions, offsets)
    index = log.index_of_places(places)
    index[places == UNNAMED] = UNNAMED
    if identity.topic:
        topics = rows[identity.topic].cast(pl.String)
        index[topics.is_null().to_numpy()] = UNNAMED
        index[(topics != log.topic).fill_null(False).to_numpy()] = ELSEWHERE
    return index
