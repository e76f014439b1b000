"""Readers of a topic: consumer groups, jobs, and the witness that reads back after the drain; and
how often each saw a record.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import polars as pl

from streambed.kinds.evidence.by_batches import ByBatches
from streambed.kinds.evidence.course import Unread, unread, witness_finished
from streambed.kinds.evidence.taken import Taken
from streambed.plan import WITNESS
from streambed.record.events import Batch
from streambed.record.history import History

if TYPE_CHECKING:
    from streambed.kinds.components.component import Component
    from streambed.kinds.components.engine import Engine
    from streambed.kinds.components.progress import DeclaredReader

IDENTITY = ["producer", "sequence"]


@dataclass(frozen=True, kw_only=True)
class Reader:
    """Somebody who must see every acked record: a group's consumers together, or one job."""

    name: str
    components: tuple[str, ...]
    engine: Engine | ByBatches | None = None
    """What runs it, if it is a job."""
    latest: bool = False
    """It began with the newest record: what is older than the first that it saw is no loss."""

    def unread(self, history: History, topic: str) -> Unread:
        """What it may not have read of a topic when the run stopped waiting."""
        return unread(history, reader=self.name, members=self.components, topic=topic)


def of_component(column: str, component: str) -> pl.Expr:
    """Whether a producer or consumer of the ledger is this component, or one of those that it has
    on many hosts.
    """
    return (pl.col(column) == component) | pl.col(column).str.starts_with(f"{component}/")


@dataclass
class _Group:
    """A consumer group as it is put together from its members."""

    members: dict[str, None] = field(default_factory=dict)
    latest: bool = False


def readers_of(history: History, topic: str) -> list[Reader]:
    """All who were declared to read a topic, and all who did."""
    groups: dict[str, _Group] = {}
    for name, declared in _declared(history, topic):
        group = groups.setdefault(declared.name, _Group())
        group.members[name] = None
        group.latest |= declared.from_latest
    seen = history.ledger.seen.filter((pl.col("topic") == topic) & (pl.col("consumer") != WITNESS))
    for name, consumer in seen.select("group", "consumer").unique(maintain_order=True).iter_rows():
        if consumer not in history.components or history.components[consumer].as_engine is None:
            groups.setdefault(name, _Group()).members.setdefault(consumer.partition("/")[0])
    return [
        *(
            Reader(name=name, components=tuple(group.members), latest=group.latest)
            for name, group in groups.items()
        ),
        *(
            Reader(name=job, components=(job,), engine=engine_of(history, job))
            for job in _jobs(history, topic)
        ),
    ]


def _declared(history: History, topic: str) -> Iterable[tuple[str, DeclaredReader]]:
    for name, component in history.components.items():
        for reader in component.readers:
            if reader.group and topic in reader.topics:
                yield name, reader


def _jobs(history: History, topic: str) -> list[str]:
    """Jobs that were declared to read a topic, and those whose batches did."""
    declared = [
        name for name, component in history.components.items() if _is_job_on(component, topic)
    ]
    ran = [event.component for event in history.of(Batch) if topic in event.offsets]
    return list(dict.fromkeys([*declared, *ran]))


def _is_job_on(component: Component, topic: str) -> bool:
    engine = component.as_engine
    return engine is not None and topic in engine.reads


def engine_of(history: History, job: str) -> Engine | ByBatches:
    """What knows the ways of records through a job; one that was not declared is known by its
    batches alone.
    """
    component = history.components.get(job)
    engine = component.as_engine if component else None
    return engine or ByBatches(name=job)


def witness_of(history: History, topic: str) -> Reader | None:
    """The witness as a reader, if it read the whole topic back. Half a reading would make the rest
    look lost.
    """
    if not witness_finished(history):
        return None
    read = history.ledger.seen.filter((pl.col("topic") == topic) & (pl.col("consumer") == WITNESS))
    return None if read.is_empty() else Reader(name=WITNESS, components=(WITNESS,))


def times_seen(history: History, reader: Reader, topic: str, records: pl.DataFrame) -> Taken:
    """How often a reader saw each of these records of a topic."""
    if reader.engine:
        return reader.engine.times_taken(history, topic, records)
    by_witness = pl.col("consumer") == WITNESS
    who = by_witness if reader.name == WITNESS else (pl.col("group") == reader.name) & ~by_witness
    seen = history.ledger.seen.filter((pl.col("topic") == topic) & who)
    counts = seen.group_by(IDENTITY).agg(times=pl.len().cast(pl.Int64))
    times = records.join(counts, on=IDENTITY, how="left", maintain_order="left")["times"].fill_null(
        0
    )
    return Taken(times=times, untold=pl.repeat(False, records.height, eager=True))


def without_ledger(history: History, topic: str) -> list[str]:
    """The producers and consumers of a topic that noted nothing: of what they did with it, nothing
    can be said.
    """
    return [
        name
        for name, component in history.components.items()
        if not component.keeps_ledger and topic in topics_of(component)
    ]


def topics_of(component: Component) -> tuple[str, ...]:
    """All topics that a component reads or writes."""
    read = [topic for reader in component.readers for topic in reader.topics]
    return (*component.topics_written, *read)


def intermediate_topics(components: Mapping[str, Component], job: str) -> tuple[str, ...]:
    """The topics between a job and the jobs before it, back to the first: their records carry no
    due time of their own.
    """
    engines = {
        name: engine for name, component in components.items() if (engine := component.as_engine)
    }
    between: dict[str, None] = {}
    pending, done = [job], set()
    while pending:
        name = pending.pop()
        done.add(name)
        reads = engines[name].reads if name in engines else ()
        for writer, engine in engines.items():
            shared = [topic for topic in engine.writes if topic in reads]
            between |= dict.fromkeys(shared)
            if shared and writer not in done:
                pending.append(writer)
    return tuple(between)
