"""Triggers: what must happen in the run before a fault is injected.

A trigger is parsed when the declaration is read. While the load lasts it is looked for every few
milliseconds, and the fault is injected by the thread that sees it.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import PlainSerializer, PlainValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

from streambed.errors import WorldError, suggestion
from streambed.kinds.components.batch_log import query_folders, written_ns
from streambed.kinds.components.broker import brokers_among
from streambed.kinds.components.engine import engines_among
from streambed.kinds.components.roles import Role, broker_for, role_problems
from streambed.kinds.declared_components import Components
from streambed.record import now_ns
from streambed.record.gates import COMMITTING, claim, release
from streambed.record.gauges import ProducerGauge
from streambed.world import World

Look = Callable[[], int | None]
"""When it happened, in monotonic nanoseconds; None if it has not happened yet."""
FAST_S = 0.002
"""How often files and gauges are looked at."""
QUERIES_NS = 200_000_000
"""How often the queries of a job are looked up."""
ROLES_S = 0.1
"""How often brokers are asked for the holder of a role."""


class Trigger(ABC):
    """Something that happens in a run."""

    form: ClassVar[str]
    """How it is written, with capitals for what a user puts in."""
    every_s: ClassVar[float] = FAST_S
    """How often it is looked for."""
    counts: ClassVar[bool] = False
    """Whether it needs the counters of agents, which then report often."""

    @property
    def sync_point(self) -> str:
        """The producer that waits at its next commit until `let_go`; empty if none does."""
        return ""

    @abstractmethod
    def __str__(self) -> str: ...

    @abstractmethod
    def problem(self, components: Components) -> str:
        """Why it can never come; empty if it can."""

    @abstractmethod
    def watch(self, world: World, components: Components) -> Look:
        """Begin to look for it."""

    def let_go(self, world: World) -> None:
        """Called when the fault was injected, or could not be."""
        return


@dataclass(frozen=True)
class Acked(Trigger):
    """A number of records of a topic was acknowledged, over all of its producers."""

    records: int
    topic: str

    form: ClassVar[str] = "N acked on TOPIC"
    counts: ClassVar[bool] = True

    def __str__(self) -> str:
        return f"{self.records} acked on {self.topic}"

    def problem(self, components: Components) -> str:
        """The topic must be declared, and its producers must count its records apart."""
        topics = [
            topic for broker in brokers_among(components).values() for topic in broker.partitions
        ]
        if self.topic not in topics:
            return f"there is no topic '{self.topic}'. {suggestion(self.topic, topics)}"
        producers = self._producers(components)
        if not producers:
            return f"no producer counts records of '{self.topic}': only a producer's are counted"
        for name in producers:
            topics = list(components[name].topics_written)
            if len(topics) > 1:
                several = " and ".join(topics)
                return f"'{name}' writes {several} and counts them together: give it one topic"
        return ""

    def _producers(self, components: Components) -> list[str]:
        return [
            name
            for name, component in components.items()
            if component.shows_flow and self.topic in component.topics_written
        ]

    def watch(self, world: World, components: Components) -> Look:
        """Add up the gauges of all producers of the topic."""
        producers = self._producers(components)
        processes = [spec.name for spec in world.plan.processes if spec.component in producers]
        this_life = dict.fromkeys(processes, 0)
        earlier_lives = dict.fromkeys(processes, 0)

        def look() -> int | None:
            for process in processes:
                gauge = world.gauge(process)
                if not isinstance(gauge, ProducerGauge):
                    continue
                if gauge.acked < this_life[process]:  # It was started again and counts from 0.
                    earlier_lives[process] += this_life[process]
                this_life[process] = gauge.acked
            acked = sum(this_life.values()) + sum(earlier_lives.values())
            return now_ns() if acked >= self.records else None

        return look


@dataclass(frozen=True)
class LeaderChanges(Trigger):
    """Another broker leads a partition than when the watch began."""

    topic: str
    partition: int

    form: ClassVar[str] = "leader of TOPIC/PARTITION changes"
    every_s: ClassVar[float] = ROLES_S

    def __str__(self) -> str:
        return f"leader of {self.topic}/{self.partition} changes"

    @property
    def _role(self) -> Role:
        return Role(kind="leader", of=self.topic, partition=self.partition)

    def problem(self, components: Components) -> str:
        """The partition must exist."""
        problems = role_problems(str(self._role), components, "")
        return problems[0].says if problems else ""

    def watch(self, world: World, components: Components) -> Look:
        """Ask the brokers for the leader; while there is none, nothing has changed yet."""
        broker = broker_for(self._role, components)
        first = ""

        def look() -> int | None:
            nonlocal first
            try:
                leader = broker.role_holder(self._role, world)
            except WorldError:
                return None
            first = first or leader
            return now_ns() if leader != first else None

        return look


@dataclass(frozen=True)
class BatchUncommitted(Trigger):
    """A job has written the offsets of a batch to its checkpoint and not yet its commit."""

    job: str
    batch: int | None = None
    """None: any batch."""

    form: ClassVar[str] = "JOB has written batch N and not committed it"

    def __str__(self) -> str:
        batch = "a batch" if self.batch is None else f"batch {self.batch}"
        return f"{self.job} has written {batch} and not committed it"

    def problem(self, components: Components) -> str:
        """The job must keep its checkpoint on this machine's disk."""
        engines = engines_among(components)
        if self.job not in engines:
            return f"there is no job '{self.job}'. {suggestion(self.job, engines)}"
        if engines[self.job].batch_log(Path()) is None:
            return f"'{self.job}' writes no log of batches to its host's disk, so none can be seen"
        return ""

    def watch(self, world: World, components: Components) -> Look:
        """Look at the files `offsets/N` and `commits/N` of each of its queries."""
        log = engines_among(components)[self.job].batch_log(world.directory / "data" / self.job)
        assert log is not None
        queries: list[Path] = []
        next_ns = 0

        def look() -> int | None:
            nonlocal queries, next_ns
            if now_ns() >= next_ns:  # A job may start another query at any time.
                queries, next_ns = list(query_folders(log)), now_ns() + QUERIES_NS
            for query in queries:
                for batch in self._planned_batches(query):
                    if not (query / "commits" / batch).exists():
                        return written_ns(query / "offsets" / batch)
            return None

        return look

    def _planned_batches(self, query: Path) -> list[str]:
        if self.batch is None:
            return [path.name for path in (query / "offsets").iterdir() if path.name.isdigit()]
        name = str(self.batch)
        return [name] if (query / "offsets" / name).exists() else []


@dataclass(frozen=True)
class Committing(Trigger):
    """A transactional producer has handed over all records of a transaction and is about to commit.

    It waits until the fault was injected, so that the fault comes before the commit is sent.
    """

    producer: str

    form: ClassVar[str] = "PRODUCER is committing"

    @property
    def sync_point(self) -> str:
        """The producer, which waits before it commits."""
        return self.producer

    def __str__(self) -> str:
        return f"{self.producer} is committing"

    def problem(self, components: Components) -> str:
        """It must send transactions."""
        ids = [name for each in components.values() for name in each.transactional_ids]
        if self.producer in ids:
            return ""
        if self.producer in components:
            return f"'{self.producer}' sends no transactions: only such a producer commits"
        return f"there is no transactional producer '{self.producer}'. " + suggestion(
            self.producer, ids
        )

    def watch(self, world: World, components: Components) -> Look:
        """Look for the sign that the agent gives before it waits; each sign is for one fault."""

        def look() -> int | None:
            claimed = claim(world.directory, self.producer, COMMITTING)
            return now_ns() if claimed else None

        return look

    def let_go(self, world: World) -> None:
        """Let the producer commit."""
        release(world.directory, self.producer, COMMITTING)


_NAME = r"[A-Za-z][\w./-]*"
_ACKED = re.compile(rf"(?P<records>[0-9]{{1,12}}) acked on (?P<topic>{_NAME})")
_LEADER = re.compile(r"leader of (?P<topic>[^/\s]+)(/(?P<partition>[0-9]{1,6}))? changes")
_BATCH = re.compile(
    rf"(?P<job>{_NAME}) has written (a batch|batch (?P<batch>[0-9]{{1,9}})) and not committed it"
)
_COMMITTING = re.compile(rf"(?P<producer>{_NAME}) is committing")


def count_trigger(text: object) -> Acked:
    """What `after` says; PydanticCustomError if it is no such trigger."""
    if isinstance(text, Acked):
        return text
    match = _ACKED.fullmatch(text) if isinstance(text, str) else None
    if match and int(match["records"]):
        return Acked(int(match["records"]), match["topic"])
    raise _refusal(text, [Acked.form], example="1000 acked on lines")


def event_trigger(text: object) -> Trigger:
    """What `when` says; PydanticCustomError if it is no such trigger."""
    if isinstance(text, Trigger):
        return text
    written = text if isinstance(text, str) else ""
    if match := _LEADER.fullmatch(written):
        return LeaderChanges(match["topic"], int(match["partition"] or 0))
    if match := _BATCH.fullmatch(written):
        return BatchUncommitted(match["job"], int(match["batch"]) if match["batch"] else None)
    if match := _COMMITTING.fullmatch(written):
        return Committing(match["producer"])
    if _ACKED.fullmatch(written):
        raise _error(f"'{written}' is a count: write it under `after`")
    forms = [kind.form for kind in (LeaderChanges, BatchUncommitted, Committing)]
    raise _refusal(text, forms, example="leader of lines/0 changes")


def _refusal(text: object, forms: list[str], *, example: str) -> PydanticCustomError:
    listed = ", or ".join(f"'{form}'" for form in forms)
    return _error(f"{text!r} is not a trigger: write {listed}, such as '{example}'")


def _error(says: str) -> PydanticCustomError:
    return PydanticCustomError("quantity", "{says}", {"says": says})


_TEXT = PlainSerializer(str, return_type=str)
_SCHEMA = WithJsonSchema({"type": "string"})
CountTrigger = Annotated[Acked, PlainValidator(count_trigger), _TEXT, _SCHEMA]
"""A count of records."""
EventTrigger = Annotated[Trigger, PlainValidator(event_trigger), _TEXT, _SCHEMA]
"""Something that happens."""
