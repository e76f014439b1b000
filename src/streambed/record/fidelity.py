"""Fidelity: how well the emulated network did what was declared, judged from the history of a run
alone.

Links are calibrated before the load; while it lasts the delay line says how late it was, and the
machine how hard it was pressed. From that follows one statement, and the spans of time in which
results are not to be believed. A busy processor is no reason for doubt: programs may need all of
it. That packets were late, or that nobody could have been punctual, is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal

import polars as pl

from streambed.record.calibration import LinkCalibration, bound_ns
from streambed.record.events import Calibrated, Calibration, Phase
from streambed.record.history import History
from streambed.units import clock, shown

Reason = Literal["wrong", "late", "held up", "silent", "stolen", "stalled"]
STOLEN_SHARE = 0.1
"""So much of the processors may the hypervisor take away in a second."""
SILENT_NS = 1_500_000_000
"""The delay line writes its gauge every second, if it can."""
STALLED_S = 0.5
"""So much later than it wished the sampler may be woken."""
SECOND_NS = 1_000_000_000
SHORT_NS = 500_000_000
"""Of less than this counters say nothing: the hypervisor's grows by ticks of 10 ms."""
LISTED = 3
"""So many links or spans are named in a sentence."""

SAYS: dict[Reason, str] = {
    "late": "the delay line let packets go {} too late",
    "held up": "the delay line had to wait for a processor for {} of the time",
    "silent": "the delay line gave no sign of life for {}",
    "stolen": "the hypervisor took {} of the processors away",
    "stalled": "even the sampler was woken {} too late",
}


@dataclass(frozen=True, kw_only=True)
class Span:
    """A time that is in doubt, in monotonic nanoseconds, and why."""

    start: int
    end: int
    says: str
    reasons: tuple[Reason, ...] = ()
    only_slower: bool = True
    """Packets were late then, and nothing else: what was fast enough all the same would have been
    with punctual links too.
    """


@dataclass(frozen=True, kw_only=True)
class Fidelity:
    """Whether a run is to be believed, in one sentence, and when it is not."""

    believable: bool
    says: str
    spans: tuple[Span, ...] = ()
    within_ms: float | None = None
    """So near to what was declared were all links outside the spans; None if that is not known."""
    within_share: float | None = None
    """The same as a share of the declared delay; None without a delay."""


@dataclass(frozen=True)
class Doubt:
    """One second, more or less, in which something was wrong; `value` says how much."""

    start: int
    end: int
    reason: Reason
    value: float
    says: str = ""
    only_slower: bool = True


def calibrations(history: History) -> list[LinkCalibration]:
    """Every direction of every link as it was measured."""
    return [way for event in history.of(Calibrated) for way in event.ways]


def least_delay_ns(ways: Iterable[LinkCalibration]) -> int:
    """The shortest delay that is declared; zero if none is."""
    return min((way.declared_ns for way in ways if way.declared_ns), default=0)


def fidelity(history: History) -> Fidelity:
    """Judge a run: from the start of its load until it stopped."""
    window = judged(history)
    if not window or not history.of(Calibration):
        why = "the load never began" if not window else "its links were not calibrated"
        return Fidelity(believable=False, says=f"nobody knows how well links did: {why}")
    ways = calibrations(history)
    found = clipped(doubts(history, ways), *window)
    spans = merged(found)
    late_ns = _late_otherwise(history, spans, window)
    within_ms = max((way.error_ns + late_ns for way in ways), default=0) / 1e6
    shares = [(way.error_ns + late_ns) / way.declared_ns for way in ways if way.declared_ns]
    share = f" and {_brief(100 * max(shares))} %" if shares else ""
    good = (
        f"links were within {_brief(within_ms)} ms{share} of what was declared"
        if ways
        else "no link was emulated"
    )
    return Fidelity(
        believable=not spans,
        says=_says(history, spans, _reasons(found), good) if spans else good,
        spans=spans,
        within_ms=within_ms,
        within_share=max(shares, default=None),
    )


def _brief(value: float) -> str:
    return f"{value:.2g}" if value < 10 else f"{value:.0f}"


def judged(history: History) -> tuple[int, int] | None:
    """From the start of the load until the run stopped, or its last event; None if there was no
    load.
    """
    if history.load_ns is None:
        return None
    stops = (event.time for event in history.of(Phase) if event.phase == "stop")
    return history.load_ns, next(stops, history.events[-1].time)


def doubts(history: History, ways: list[LinkCalibration]) -> Iterator[Doubt]:
    """All that speaks against a run, whenever it was."""
    always = history.start_ns, history.events[-1].time + SECOND_NS
    yield from (Doubt(*always, "wrong", 0, way.text, way.only_slower) for way in ways if way.wrong)
    delay_ns = least_delay_ns(ways)
    for since, time, mean_ns, max_ns in _steps(
        history, "delay_line_late_mean_ns", "delay_line_late_max_ns"
    ):
        if mean_ns > bound_ns(delay_ns):
            yield Doubt(since, time, "late", max_ns)
        if time - since > SILENT_NS:
            yield Doubt(since, time, "silent", time - since)
    for since, time, waited_s, turns in _growth(history, "delay_line_waited_s", "delay_line_turns"):
        if turns and waited_s * 1e9 / turns > bound_ns(delay_ns):
            yield Doubt(since, time, "held up", min(1, waited_s * 1e9 / (time - since)))
    for since, time, *parts_s in _growth(
        history, "machine_stolen_s", "machine_busy_s", "machine_idle_s"
    ):
        if parts_s[0] > STOLEN_SHARE * sum(parts_s):
            yield Doubt(since, time, "stolen", parts_s[0] / sum(parts_s))
    for since, time, late_s in _steps(history, "sampler_late_s"):
        if late_s > STALLED_S:
            yield Doubt(since, time, "stalled", late_s * 1e9)


def _steps(history: History, *metrics: str) -> Iterator[tuple[Any, ...]]:
    """For each time at which all of these were sampled: the time before, the time, and the
    values.
    """
    found = history.samples.filter(pl.col("metric").is_in(metrics))
    values = [
        pl.col("value").filter(pl.col("metric") == metric).first().alias(metric)
        for metric in metrics
    ]
    table = found.group_by("time").agg(values).drop_nulls().sort("time")
    before = None
    for time, *sampled in table.iter_rows():
        yield time - SECOND_NS if before is None else before, time, *sampled
        before = time


def _growth(history: History, *metrics: str) -> Iterator[tuple[Any, ...]]:
    """The same for counters: what each grew by since the time before."""
    steps = list(_steps(history, *metrics))
    for (_, _, *before), (since, time, *now) in pairwise(steps):
        if time - since > SHORT_NS:
            yield since, time, *(new - old for new, old in zip(now, before, strict=True))


def clipped(found: Iterable[Doubt], start: int, end: int) -> list[Doubt]:
    """What of it was between two times."""
    inside = [
        replace(doubt, start=max(doubt.start, start), end=min(doubt.end, end)) for doubt in found
    ]
    return sorted(
        (doubt for doubt in inside if doubt.start < doubt.end), key=lambda doubt: doubt.start
    )


def merged(found: list[Doubt]) -> tuple[Span, ...]:
    """Doubts, in order of their start, that touch each other as one span, which says each reason
    once with its worst value.
    """
    groups: list[list[Doubt]] = []
    for doubt in found:
        if groups and doubt.start <= max(other.end for other in groups[-1]):
            groups[-1].append(doubt)
        else:
            groups.append([doubt])
    return tuple(_span(group) for group in groups)


def _span(group: list[Doubt]) -> Span:
    only_slower = all(doubt.only_slower for doubt in group)
    return Span(
        start=group[0].start,
        end=max(doubt.end for doubt in group),
        says=_reasons(group),
        reasons=tuple(dict.fromkeys(doubt.reason for doubt in group)),
        only_slower=only_slower,
    )


def _reasons(group: list[Doubt]) -> str:
    wrong = [doubt.says for doubt in group if doubt.reason == "wrong"]
    more = [f"{len(wrong) - LISTED} more links are wrong"] if len(wrong) > LISTED else []
    worst = {
        reason: max((doubt.value for doubt in group if doubt.reason == reason), default=None)
        for reason in SAYS
    }
    said = [
        SAYS[reason].format(_amount(reason, value))
        for reason, value in worst.items()
        if value is not None
    ]
    return "; ".join([*wrong[:LISTED], *more, *said])


def _amount(reason: Reason, value: float) -> str:
    return (
        f"up to {100 * value:.0f} %" if reason in ("stolen", "held up") else f"up to {shown(value)}"
    )


def _late_otherwise(history: History, spans: tuple[Span, ...], window: tuple[int, int]) -> float:
    """The largest mean lateness of a second outside the spans."""
    start, end = window
    steps = list(_steps(history, "delay_line_late_mean_ns"))
    calm = (
        late
        for _, time, late in steps
        if start <= time <= end and not any(span.start < time <= span.end for span in spans)
    )
    return max(calm, default=0.0)


def _says(history: History, spans: tuple[Span, ...], why: str, good: str) -> str:
    window_s = sum(span.end - span.start for span in spans) / 1e9
    first = spans[0]
    start, end = judged(history) or (0, 0)
    if (first.start, first.end) == (start, end):
        return f"not to be believed: {why}"
    times = ", ".join(
        f"{clock(history.seconds(span.start))}–{clock(history.seconds(span.end))}"
        for span in spans[:LISTED]
    )
    more = f" and {len(spans) - LISTED} more" if len(spans) > LISTED else ""
    return f"{window_s:.0f} s of {(end - start) / 1e9:.0f} s are not to be believed ({times}{more}): {why}; otherwise {good}"
