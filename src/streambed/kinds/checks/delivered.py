"""What checks of delivery share: the input log, and the target that its records must reach."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import polars as pl
from pydantic import model_validator

from streambed.errors import Problem, suggestion
from streambed.kinds.checks.check import RowsFound
from streambed.kinds.checks.components import (
    readers_among,
    stores_among,
    topic_problems,
    topics_among,
)
from streambed.kinds.checks.expected import MayFail
from streambed.kinds.declared_components import Components
from streambed.kinds.declaring import declared
from streambed.kinds.evidence.outputs.delivery import (
    Delivery,
    NothingKnown,
    to_group,
    to_job,
    to_store,
    to_topic,
)
from streambed.kinds.evidence.outputs.identity import OF_SINKS, Identity
from streambed.kinds.evidence.outputs.input_log import InputLog, input_log, records_of
from streambed.kinds.evidence.readers import Reader, readers_of
from streambed.record.history import History
from streambed.record.ledger.stored_rows import StoreQuery
from streambed.stores.store import COLUMNS

if TYPE_CHECKING:  # Checks never import a world.
    from streambed.kinds.components.sink import Sink


@declared
class Delivered(MayFail):
    """From the log of `topic` to `to`."""

    kind: str
    topic: str
    """The input. The witness reads it back after the drain: that log is the reference."""
    to: str
    """What its records must reach: a consumer, group or sink, a job, a topic that a job writes, or
    a store.
    """
    table: str = ""
    """The table of the store."""
    query: str = ""
    """In place of `table`: a query in the store's own language, whose rows count."""
    identity: Identity | None = None
    """How outputs name their input. Default: the identity header for a topic; the columns topic,
    partition and offset for a store.
    """
    by: str = ""
    """The job or sink that brings records to a topic or store; needed if several read the input."""

    @model_validator(mode="after")
    def _has_one_source_of_rows(self) -> Delivered:
        if self.table and self.query:
            raise ValueError("give table or query, not both")
        return self

    @property
    def about(self) -> str:
        """Input and target: verdicts are named exactly_once:lines:archive."""
        return f"{self.topic}:{self.to}"

    @property
    def store_query(self) -> StoreQuery:
        """The query for the rows that name their inputs."""
        return StoreQuery(store=self.to, text=self.query or f"select * from {self.table}")

    def problems(self, components: Components) -> list[Problem]:
        """The topic and the target must be declared, and something must bring records there."""
        if wrong := topic_problems(components, self.topic):
            return wrong
        topics = topics_among(components)
        if self.to in readers_among(components, self.topic):
            return [
                *self._only_for_stores("its records are known by its ledger"),
                *self._reader_problems(components),
            ]
        if self.to in topics:
            return self._only_for_stores("", identity=True) + self._carrier_problems(components)
        if self.to in stores_among(components):
            return self._store_problems(components) + self._carrier_problems(components)
        known = {*readers_among(components, self.topic), *topics, *stores_among(components)}
        says = f"'{self.to}' is no store, no topic and no reader of {self.topic}"
        says = f"{says}. {suggestion(self.to, known - {self.topic})}"
        return [Problem(key="to", says=says, about=frozenset({self.to}))]

    def _reader_problems(self, components: Components) -> list[Problem]:
        """A reader is known by its ledger: it must keep one."""
        silent = []
        for name, component in components.items():
            names = {name, *(reader.name for reader in component.readers)}
            if self.to in names and not component.keeps_ledger:
                silent.append(name)
        says = f"{', '.join(silent)} keeps no ledger: leave out `ledger: false`"
        return [Problem(key="to", says=says)] if silent else []

    def _only_for_stores(self, why: str, *, identity: bool = False) -> list[Problem]:
        keys = ["table", "query"] if identity else ["table", "query", "identity", "by"]
        because = f": {why}" if why else ""
        return [
            Problem(key=key, says=f"'{self.to}' takes no {key}{because}. Leave it out")
            for key in keys
            if getattr(self, key)
        ]

    def _store_problems(self, components: Components) -> list[Problem]:
        if not self.table and not self.query:
            says = f"'{self.to}' is a store: give the table, or a query"
            return [Problem(key="table", says=says)]
        sinks = [
            cast("Sink", component)
            for component in components.values()
            if component.kind == "sink" and self.to in component.stores_used
        ]
        sinks = [sink for sink in sinks if sink.table == self.table]
        if not self.table or not sinks:
            return []
        columns = {*COLUMNS, *(name for sink in sinks for name in sink.columns)}
        named = self.identity.columns if self.identity else ()
        return [
            Problem(
                key="identity",
                says=f"'{self.table}' has no column '{name}'. {suggestion(name, columns)}",
            )
            for name in named
            if name not in columns
        ]

    def _carrier_problems(self, components: Components) -> list[Problem]:
        carriers = self._carriers(components)
        if self.by and self.by not in readers_among(components, self.topic):
            known = suggestion(self.by, carriers)
            says = f"'{self.by}' does not read {self.topic}. {known}"
            return [Problem(key="by", says=says, about=frozenset({self.by}))]
        if self.by or len(carriers) == 1:
            return []
        if not carriers:
            says = f"no job or sink is declared that reads {self.topic} and writes '{self.to}'"
            return [Problem(key="to", says=says)]
        says = f"{', '.join(carriers)} read {self.topic}: name the one that writes '{self.to}'"
        return [Problem(key="by", says=says)]

    def _carriers(self, components: Components) -> list[str]:
        """Who may bring records from the topic to the target."""
        if self.by:
            return [self.by]
        reading = {
            name: component
            for name, component in components.items()
            if any(self.topic in reader.topics for reader in component.readers)
        }
        declared = [
            name
            for name, component in reading.items()
            if self.to in (*component.stores_used, *component.topics_written)
        ]
        jobs = [name for name, component in reading.items() if component.as_engine]
        return declared or (jobs if self.to in stores_among(components) else [])

    def witnessed(self, components: Components) -> tuple[str, ...]:
        """The input, and the output if it is a topic."""
        outputs = [self.to] if self._is_topic(components) else []
        return (self.topic, *outputs)

    def _is_topic(self, components: Components) -> bool:
        is_reader = self.to in readers_among(components, self.topic)
        return self.to in topics_among(components) and not is_reader

    def store_queries(self, components: Components) -> tuple[StoreQuery, ...]:
        """The query for the outputs in a store, asked after the drain."""
        return (self.store_query,) if self.to in stores_among(components) else ()

    def topics_kept(self, components: Components) -> tuple[str, ...]:
        """The output topic, if its values hold the identity."""
        return (self.to,) if self.identity and self._is_topic(components) else ()

    def delivery(self, history: History, log: InputLog, *, order: str = "") -> Delivery:
        """What reached the target; NothingKnown if there is no evidence."""
        if self.to in stores_among(history.components):
            return to_store(history, log, self.store_query, self.identity or OF_SINKS, order)
        if self._is_topic(history.components):
            return to_topic(history, log, self.to, self.identity)
        reader = self.reader(history)
        if reader.evidence:
            return to_job(history, log, reader.name)
        return to_group(history, log, reader.name)

    def rows_of_record(self, history: History, *, producer: str, sequence: int) -> RowsFound | None:
        """The rows of its store that name a record of its topic."""
        log = input_log(history, self.topic)
        if log is None or self.to not in stores_among(history.components):
            return None
        name = records_of(pl.Series([producer]), pl.Series([sequence]), log.producers)
        (index,) = log.index_of_records(name)
        if index < 0:
            return None
        try:
            delivery = self.delivery(history, log)
        except NothingKnown:
            return None
        return RowsFound(store=self.to, rows=int(delivery.times[index]))

    def reader(self, history: History) -> Reader:
        """What brings records to the target; NothingKnown if nothing does."""
        is_reader = self.to in readers_among(history.components, self.topic)
        names = [self.to] if is_reader else self._carriers(history.components)
        for reader in readers_of(history, self.topic):
            if {reader.name, *reader.components} & {*names, self.to}:
                return reader
        raise NothingKnown(f"nothing in this run brings {self.topic} to {self.to}")
