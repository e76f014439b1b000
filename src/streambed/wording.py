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
    ProbedFault,
    ProcessEnded,
    Ready,
    Reroute,
    TableDamaged,
    Wait,
    WitnessIncomplete,
)
from streambed.units import count_of, shown


@singledispatch
def line_about(event: Event) -> str:
    """One line that says what happened; empty for events that are not shown while a run lasts."""
    return ""


@line_about.register
def _(event: Ready) -> str:
    return f"{'ready':<8} {event.component} after {event.seconds:.1f} s"


@line_about.register
def _(event: Inject) -> str:
    lasts = f", {event.lasts_ns / 1e9:g} s" if event.lasts_ns else ""
    trigger = f", when {event.trigger}" if event.trigger else ""
    how = f", {event.how}" if event.how else ""
    return f"{'inject':<8} {event.kind} {event.target}{lasts}{how}{trigger}"


@line_about.register
def _(event: ProbedFault) -> str:
    sent = sum(direction.sent for direction in event.ways)
    arrived = sum(direction.arrived for direction in event.ways)
    delays = [direction.delay_ns for direction in event.ways if direction.delay_ns is not None]
    took = f", in {shown(min(delays))} to {shown(max(delays))}" if delays else ""
    return f"{'probe':<8} {event.kind} {event.target}: {arrived} of {sent} packets arrived{took}"


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
    routes = "back: every link carries packets again"
    if event.without:
        routes = f"around {', '.join(event.without)}"
    return f"{'reroute':<8} {routes}; {count_of(len(event.nodes), 'node')} changed"


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
    leader = event.now or "nobody"
    return f"{'kafka':<8} controllers led by {leader}, before by {event.was}"


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
        key = (wait.reason, wait.reader or wait.says, topics)
        groups.setdefault(key, []).append(wait)
    sentences = [_SENTENCES[reason](group) for (reason, _, _), group in groups.items()]
    return "; ".join(sentences)


def _records_text(waits: list[Wait]) -> str:
    return count_of(sum(wait.records for wait in waits), "record")


def _behind(waits: list[Wait]) -> str:
    return f"{waits[0].reader} is {_records_text(waits)} behind"


def _unreadable(waits: list[Wait]) -> str:
    partitions = [str(wait.partition) for wait in waits if wait.partition is not None]
    which = f" partition {', '.join(partitions)} of" if partitions else ""
    topics = ", ".join(waits[0].topics)
    return f"the end of{which} {topics} is unknown: its broker does not answer"


def _in_flight(waits: list[Wait]) -> str:
    return f"{waits[0].reader} has {_records_text(waits)} in flight"


_SENTENCES: dict[str, Callable[[list[Wait]], str]] = {
    "behind": _behind,
    "unreadable": _unreadable,
    "in_flight": _in_flight,
    "arriving": lambda waits: f"{waits[0].reader} still receives records",
    "running": lambda waits: f"{waits[0].reader} still runs",
    "unknown": lambda waits: waits[0].says,
}
