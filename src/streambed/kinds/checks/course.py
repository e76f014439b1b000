"""The course of a run as checks see it: which fault was active when, whether the load ended, and who had caught up at the end."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

import polars as pl

from streambed.fidelity import Span
from streambed.history import WITNESS, Event, History, Verdict

FOREVER_NS = 2**63 - 1


@dataclass(frozen=True, kw_only=True)
class ActiveFault:
    """A fault from its injection until it was healed."""

    name: str
    start: int
    end: int


def doubted(verdict: Verdict, history: History) -> Verdict:
    """A promise that was kept while a declared fault did not happen says nothing about that fault: then it is unknown."""
    missing = [f"{event.fields['kind']} {event.fields['target']}" for event in history.of("inject_failed")]
    if not missing or not verdict.holds:
        return verdict
    return replace(verdict, answer="unknown", says=f"{', '.join(missing)} could not be injected; without it: {verdict.says}")


def in_doubt(spans: Iterable[Span], *, start: str, end: str) -> pl.Expr:
    """Whether a row of a table, whose columns `start` and `end` hold its own span, touches one that is not to be believed."""
    last = pl.col(end).fill_null(pl.col(start))
    return pl.any_horizontal(pl.lit(False), *((pl.col(start) <= span.end) & (last >= span.start) for span in spans))


def faults_of(history: History) -> list[ActiveFault]:
    """Every fault that was injected. Its name is its kind, and its target too if there were several of the kind."""
    injects, heals = history.of("inject"), history.of("heal")
    kinds = Counter(inject.fields["kind"] for inject in injects)
    return [
        ActiveFault(name=_name(inject, alone=kinds[inject.fields["kind"]] == 1), start=inject.time, end=_healed_at(inject, heals))
        for inject in injects
    ]


def _name(inject: Event, *, alone: bool) -> str:
    kind = str(inject.fields["kind"])
    return kind if alone else f"{kind} {inject.fields.get('target', '')}".strip()


def _healed_at(inject: Event, heals: list[Event]) -> int:
    same = (heal.time for heal in heals if heal.fields["fault"] == inject.fields["fault"] and heal.time >= inject.time)
    return next(same, FOREVER_NS)  # A fault that could not be healed lasts until the end.


def names_between(faults: Iterable[ActiveFault], *, start: int, end: int) -> str:
    """The faults active at some time in a span, as they are read aloud; empty if there was none."""
    return ", ".join(dict.fromkeys(fault.name for fault in faults if fault.start <= end and fault.end >= start))


def names_during(faults: Iterable[ActiveFault], *, start: str, end: str) -> pl.Expr:
    """The same for every row of a table, whose columns `start` and `end` hold the span."""
    names = [pl.when((pl.col(start) <= fault.end) & (pl.col(end) >= fault.start)).then(pl.lit(fault.name)) for fault in faults]
    return pl.concat_str(names, separator=", ", ignore_nulls=True) if names else pl.lit("")


def load_ended(history: History) -> bool:
    """Whether the run went on to its drain. A run that broke under load never does."""
    return any(event.fields["phase"] == "drain" for event in history.of("phase"))


def drained(history: History, reader: str, members: Iterable[str]) -> bool:
    """Whether the run waited until a reader had caught up: a Spark job, or a group with its members. It does not wait for the dead."""
    names = {reader, *members}
    ends = history.of("drained", "drain_incomplete")
    if not ends or all(_dead_at(history, member, ends[-1].time) for member in members):
        return False
    waits = [wait for end in ends for wait in _texts(end.fields.get("waits", ()))]
    return not any(_mentions(wait, name) for wait in waits for name in names)


def _dead_at(history: History, component: str, time: int) -> bool:
    lives = [event for event in history.of("process_started", "process_ended") if event.fields["component"] == component]
    before = [event for event in lives if event.time <= time]
    return bool(before) and before[-1].event == "process_ended"


def witness_finished(history: History) -> bool:
    """Whether nothing says that the witness gave up before it had read everything back."""
    ended = [event.fields.get("status") for event in history.of("process_ended") if event.fields["component"] == WITNESS]
    return not history.of("witness_incomplete") and not any(ended)


def _texts(waits: object) -> list[str]:
    return [str(wait) for wait in waits] if isinstance(waits, (list, tuple, dict)) else [str(waits)]


def _mentions(text: str, name: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text) is not None


def counted(count: int, noun: str) -> str:
    """A number of things as it is read aloud: 1 record, 2 records."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
