"""Events as people read them: one line each. No program ever parses these sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import singledispatch

from streambed.record.events import (
    ControllerChanged,
    Drained,
    DrainIncomplete,
    Event,
    Exposed,
    Heal,
    HealFailed,
    Inject,
    InjectFailed,
    LeaderChanged,
    Note,
    ProcessEnded,
    Ready,
    Reroute,
    TableDamaged,
    Wait,
    WitnessIncomplete,
)


@singledispatch
def line_about(event: Event) -> str:
    """One line that says what happened; empty for events that are not shown while a run lasts."""
    return ""


@line_about.register
def _(event: Ready) -> str:
    return f"{'ready':<8} {event.component} after {event.seconds:.1f} s"


@line_about.register
def _(event: Inject) -> str:
    return f"{'inject':<8} {event.kind} {event.target}, {event.lasts_ns / 1e9:g} s"


@line_about.register
def _(event: InjectFailed) -> str:
    return f"{'inject':<8} {event.kind} {event.target}: FAILED, {event.reason}"


@line_about.register
def _(event: Heal) -> str:
    return f"{'heal':<8} {event.kind} {event.target}"


@line_about.register
def _(event: HealFailed) -> str:
    return f"{'heal':<8} {event.kind} {event.target}: FAILED, {event.reason}"


@line_about.register
def _(event: Reroute) -> str:
    around = (
        f"around {', '.join(event.without)}"
        if event.without
        else "back: every link carries packets again"
    )
    return f"{'reroute':<8} {around}; {count(len(event.nodes), 'node')} changed"


@line_about.register
def _(event: ProcessEnded) -> str:
    unexpected = "" if event.expected else ", unexpectedly"
    memory = ", KILLED FOR MEMORY" if event.memory_kills else ""
    return f"{'ended':<8} {event.process}, status {event.status}{unexpected}{memory}"


@line_about.register
def _(event: Drained) -> str:
    return f"{'drained':<8} every reader caught up in {event.seconds:.1f} s"


@line_about.register
def _(event: DrainIncomplete) -> str:
    return f"{'drain':<8} INCOMPLETE: {waits_text(event.waits)}"


@line_about.register
def _(event: WitnessIncomplete) -> str:
    processes = ", ".join(event.processes)
    return f"{'drain':<8} INCOMPLETE: {processes} did not end within {event.limit_s:g} s"


@line_about.register
def _(event: LeaderChanged) -> str:
    if not event.was:
        return ""  # The first leader did not take over from anybody.
    leader = event.now or "nobody"
    return f"{'kafka':<8} {event.topic}/{event.partition} led by {leader}, before by {event.was}"


@line_about.register
def _(event: ControllerChanged) -> str:
    if not event.was:
        return ""
    return f"{'kafka':<8} the controllers led by {event.now or 'nobody'}, before by {event.was}"


@line_about.register
def _(event: Exposed) -> str:
    return f"{'exposed':<8} {event.node}:{event.target_port} is on http://localhost:{event.port}"


@line_about.register
def _(event: Note) -> str:
    return f"{'note':<8} {event.says}"


@line_about.register
def _(event: TableDamaged) -> str:
    return f"{'DAMAGED':<8} {event.file}: {event.reason}"


def waits_text(waits: Iterable[Wait]) -> str:
    """What the drain waited for; the partitions of one reader together."""
    groups: dict[tuple[str, str, tuple[str, ...]], list[Wait]] = {}
    for wait in waits:
        topics = wait.topics if wait.reason == "unreadable" else ()
        groups.setdefault((wait.reason, wait.reader or wait.says, topics), []).append(wait)
    return "; ".join(_SENTENCES[group[0].reason](group) for group in groups.values())


def _behind(waits: list[Wait]) -> str:
    return f"{waits[0].reader} is {count(sum(wait.records for wait in waits), 'record')} behind"


def _unreadable(waits: list[Wait]) -> str:
    partitions = [str(wait.partition) for wait in waits if wait.partition is not None]
    which = f" partition {', '.join(partitions)} of" if partitions else ""
    return f"the end of{which} {', '.join(waits[0].topics)} is unknown: its broker does not answer"


def _in_flight(waits: list[Wait]) -> str:
    return f"{waits[0].reader} has {count(sum(wait.records for wait in waits), 'record')} in flight"


_SENTENCES: dict[str, Callable[[list[Wait]], str]] = {
    "behind": _behind,
    "unreadable": _unreadable,
    "in_flight": _in_flight,
    "arriving": lambda waits: f"{waits[0].reader} still receives records",
    "running": lambda waits: f"{waits[0].reader} still runs",
    "unknown": lambda waits: waits[0].says,
}


def count(number: int, noun: str) -> str:
    """A number of things: 1 record, 2 records."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
