"""The steps of a record's journey, one frozen dataclass each, and how each reads."""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch
from typing import Literal

from streambed.units import count_of


@dataclass(frozen=True, kw_only=True)
class Step:
    """Something that happened to a record. `time` is monotonic nanoseconds; None: after the run."""

    time: int | None = None


@dataclass(frozen=True, kw_only=True)
class Due(Step):
    """The record was due."""

    producer: str


@dataclass(frozen=True, kw_only=True)
class Sent(Step):
    """The producer handed it to its client."""

    late_ns: int


@dataclass(frozen=True, kw_only=True)
class Acked(Step):
    """The broker acknowledged it."""

    topic: str
    partition: int
    offset: int
    leader: str = ""
    epoch: int | None = None
    in_sync: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Failed(Step):
    """It was not acknowledged."""

    error: str
    outcome: Literal["not written", "unknown", "aborted"]


@dataclass(frozen=True, kw_only=True)
class LeaderMoved(Step):
    """Its partition got another leader after it was acknowledged."""

    topic: str
    partition: int
    leader: str
    epoch: int


@dataclass(frozen=True, kw_only=True)
class FaultActive(Step):
    """A fault began between the time it was due and the time of its last step."""

    fault: str


@dataclass(frozen=True, kw_only=True)
class InLog(Step):
    """What the read-back found: at how many offsets of the log it is."""

    places: tuple[tuple[str, int, int], ...]


@dataclass(frozen=True, kw_only=True)
class OnBroker(Step):
    """What the files of one broker hold at its offset; `epoch` is None if they hold nothing."""

    broker: str
    epoch: int | None
    same: bool | None = None
    """Whether that is the epoch in which it was acknowledged; None if that is unknown."""


@dataclass(frozen=True, kw_only=True)
class Read(Step):
    """A reader saw it, or a copy of it in another topic."""

    consumer: str
    group: str
    topic: str
    partition: int
    offset: int
    life: int | None = None


@dataclass(frozen=True, kw_only=True)
class Taken(Step):
    """A batch of a job took it."""

    job: str
    batch: int | None
    query: str = ""
    missing: int = 0
    """How many records of its range the batch did not read."""


@dataclass(frozen=True, kw_only=True)
class Deleted(Step):
    """The log begins after it: it was deleted by retention, or on request."""

    start: int


@dataclass(frozen=True, kw_only=True)
class Stored(Step):
    """How many rows of a store name it."""

    store: str
    rows: int


@dataclass(frozen=True, kw_only=True)
class NotRead(Step):
    """A reader that had to see it never did."""

    reader: str
    where: str


@singledispatch
def text_of(step: Step) -> str:
    """One line about a step."""
    raise TypeError(step)


@text_of.register
def _(step: Due) -> str:
    return f"due at {step.producer}"


@text_of.register
def _(step: Sent) -> str:
    return f"handed to the client, {step.late_ns / 1e6:.1f} ms after it was due"


@text_of.register
def _(step: Acked) -> str:
    place = f"{step.topic}/{step.partition}@{step.offset}"
    if not step.leader:
        return f"acknowledged at {place}"
    in_sync = f", in sync: {', '.join(step.in_sync)}" if step.in_sync else ""
    return f"acknowledged at {place} by {step.leader}, leader epoch {step.epoch}{in_sync}"


@text_of.register
def _(step: Failed) -> str:
    outcomes = {
        "not written": "it is surely not in the log",
        "unknown": "it may be in the log",
        "aborted": "its transaction was aborted",
    }
    return f"not acknowledged: {step.error} ({outcomes[step.outcome]})"


@text_of.register
def _(step: LeaderMoved) -> str:
    leads = f"{step.leader} leads" if step.leader else "nobody leads"
    return f"{leads} {step.topic}/{step.partition}, epoch {step.epoch}"


@text_of.register
def _(step: FaultActive) -> str:
    return f"fault: {step.fault}"


@text_of.register
def _(step: InLog) -> str:
    if not step.places:
        return "not in the log when it was read back"
    places = ", ".join(f"{topic}/{part}@{offset}" for topic, part, offset in step.places)
    return f"in the log when it was read back: {places}"


@text_of.register
def _(step: OnBroker) -> str:
    if step.epoch is None:
        return f"{step.broker}'s files hold nothing at that offset"
    held = {True: "it", False: "another record", None: "a record"}[step.same]
    return f"{step.broker}'s files hold {held} there, from leader epoch {step.epoch}"


@text_of.register
def _(step: Read) -> str:
    life = f" (life {step.life})" if step.life and step.life > 1 else ""
    group = "" if step.group in ("", step.consumer) else f" of group {step.group}"
    place = f"{step.topic}/{step.partition}@{step.offset}"
    return f"read by {step.consumer}{group}{life} at {place}"


@text_of.register
def _(step: Taken) -> str:
    number = "a batch" if step.batch is None else f"batch {step.batch}"
    short = f", which did not read {step.missing} records of its range" if step.missing else ""
    return f"taken by {number} of {step.job}{short}"


@text_of.register
def _(step: Deleted) -> str:
    return f"deleted: the log of its partition begins at {step.start}"


@text_of.register
def _(step: Stored) -> str:
    if not step.rows:
        return f"in no row of {step.store}"
    return f"in {count_of(step.rows, 'row')} of {step.store}"


@text_of.register
def _(step: NotRead) -> str:
    return f"{step.where}: {step.reader} never saw it"
