"""Readers of a topic: consumer groups, jobs, and the witness; how often each saw a record.

The witness is a consumer that reads topics back after the drain.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import polars as pl

from streambed.judge import reading
from streambed.kinds.evidence.by_batches import ByBatches
from streambed.kinds.evidence.course import IDENTITY as IDENTITY
from streambed.kinds.evidence.course import (
    Taken,
    Unread,
    by_reader,
    ended_in_order,
    failures_of,
    times_in,
    unread,
    witness_finished,
)
from streambed.kinds.evidence.evidence import Evidence
from streambed.plan import WITNESS
from streambed.record.events import Batch
from streambed.record.history import History

if TYPE_CHECKING:
    from streambed.kinds.components.component import Component
    from streambed.kinds.components.progress import DeclaredReader


@dataclass(frozen=True, kw_only=True)
class Reader:
    """A consumer group or a job, which must see every acked record."""

    name: str
    components: tuple[str, ...]
    evidence: Evidence | None = None
    """Traces records through it, if it is a job."""
    latest: bool = False
    """It started at the latest offset: records before the first one it saw are not lost."""
    hands_in: bool = False
    """Its ledger comes from a program of the user."""

    def unread(self, history: History, topic: str) -> Unread:
        """What it may not have read of a topic when the drain ended.

        The drain knows nothing of a program of the user. If that ended by itself and in order, its
        ledger is whole; if it was stopped or failed, it may have missed the last records.
        """
        if self.hands_in:
            whole = all(ended_in_order(history, member) for member in self.components)
            return Unread(everything=not whole)
        return unread(history, reader=self.name, members=self.components, topic=topic)


def hands_in(history: History, name: str) -> bool:
    """Whether a producer or consumer of the ledger is a program that hands its ledger in."""
    component = history.components.get(name.partition("/")[0])
    return component is not None and component.hands_in_ledger


def of_component(column: str, component: str) -> pl.Expr:
    """Whether a producer or consumer of the ledger is this component, or a member of it."""
    return (pl.col(column) == component) | pl.col(column).str.starts_with(f"{component}/")


@dataclass
class _Group:
    """A consumer group while its members are collected."""

    members: dict[str, None] = field(default_factory=dict)
    latest: bool = False


def readers_of(history: History, topic: str) -> list[Reader]:
    """All groups and jobs that were declared to read a topic, and all that did read it."""
    groups = _declared_groups(history, topic)
    _add_observed_members(groups, history, topic)
    group_readers = [
        Reader(
            name=name,
            components=tuple(group.members),
            latest=group.latest,
            hands_in=any(hands_in(history, member) for member in group.members),
        )
        for name, group in groups.items()
    ]
    job_readers = [
        Reader(name=job, components=(job,), evidence=evidence_of(history, job))
        for job in _jobs(history, topic)
    ]
    return group_readers + job_readers


def _declared_groups(history: History, topic: str) -> dict[str, _Group]:
    groups: dict[str, _Group] = {}
    for component, declared in _declared_readers(history, topic):
        group = groups.setdefault(declared.name, _Group())
        group.members[component] = None
        group.latest |= declared.from_latest
    return groups


def _add_observed_members(groups: dict[str, _Group], history: History, topic: str) -> None:
    for name, consumer in reading.topic_of(history.ledger, topic).members():
        component = history.components.get(consumer)
        if component is not None and component.as_engine is not None:
            continue  # A job with its own ledger is not a group.
        group = groups.setdefault(name, _Group())
        group.members.setdefault(consumer.partition("/")[0])


def _declared_readers(history: History, topic: str) -> Iterable[tuple[str, DeclaredReader]]:
    for name, component in history.components.items():
        for reader in component.readers:
            if reader.group and topic in reader.topics:
                yield name, reader


def _jobs(history: History, topic: str) -> list[str]:
    """The jobs that were declared to read a topic, and those whose batches did."""
    declared = [
        name for name, component in history.components.items() if _is_job_on(component, topic)
    ]
    ran = [event.component for event in history.of(Batch) if topic in event.offsets]
    return list(dict.fromkeys([*declared, *ran]))


def _is_job_on(component: Component, topic: str) -> bool:
    engine = component.as_engine
    return engine is not None and topic in engine.reads


def evidence_of(history: History, job: str) -> Evidence:
    """What traces records through a job. A job that was not declared is known by its batches."""
    component = history.components.get(job)
    engine = component.as_engine if component else None
    return engine.evidence if engine else ByBatches(name=job)


def witness_of(history: History, topic: str) -> Reader | None:
    """The witness as a reader; None unless it read the whole topic back.

    After half a read-back the other half would look lost.
    """
    if not witness_finished(history):
        return None
    if reading.topic_of(history.ledger, topic).committed is None:
        return None
    return Reader(name=WITNESS, components=(WITNESS,))


def times_seen(history: History, reader: Reader, topic: str, records: pl.DataFrame) -> Taken:
    """How often a reader saw each of these records of a topic."""
    if reader.evidence:
        return reader.evidence.times_taken(history, topic, records)
    rows = (pl.col("group") == reader.name) & by_reader()
    if reader.name == WITNESS:
        rows = pl.col("consumer") == WITNESS
    seen = history.ledger.seen.filter((pl.col("topic") == topic) & rows)
    nothing_untold = pl.repeat(False, records.height, eager=True)
    return Taken(times=times_in(seen, records), untold=nothing_untold)


def without_ledger(history: History, topic: str) -> list[str]:
    """The producers and consumers of a topic that kept no ledger, so that nothing can be judged."""
    return [
        name
        for name, component in history.components.items()
        if topic in topics_of(component) and not _has_ledger(history, component, topic)
    ]


def _has_ledger(history: History, component: Component, topic: str) -> bool:
    """Whether it kept a ledger of a topic; a program may have handed in none.

    A program that was killed took what it had not handed in with it. A reader that failed may have
    done so, too: what its next process did not see would look lost.
    """
    if not component.hands_in_ledger:
        return component.keeps_ledger
    failures = failures_of(history, component.name)
    if any(status < 0 for status in failures) or (failures and component.readers):
        return False
    of_topic = pl.col("topic") == topic
    sent = history.ledger.sent.filter(of_topic & of_component("producer", component.name))
    seen = history.ledger.seen.filter(of_topic & of_component("consumer", component.name))
    wrote = sent.height > 0 or topic not in component.topics_written
    read = seen.height > 0 or not any(topic in reader.topics for reader in component.readers)
    return wrote and read


def topics_of(component: Component) -> tuple[str, ...]:
    """All topics that a component reads or writes."""
    read = [topic for reader in component.readers for topic in reader.topics]
    return (*component.topics_written, *read)


def intermediate_topics(components: Mapping[str, Component], job: str) -> tuple[str, ...]:
    """The topics between a job and the jobs upstream of it. Their records have no due time."""
    engines = {
        name: component.as_engine for name, component in components.items() if component.as_engine
    }
    between: dict[str, None] = {}
    pending = [job]
    done: set[str] = set()
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
