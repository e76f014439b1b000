"""Fidelity: how close the emulated network was to the declaration, judged from the history alone.

Links are calibrated before the load. During the load, the delay line reports how late it was, and
the sampler how busy the machine was. From these follow one statement and the spans of time whose
results are in doubt. A busy CPU is no reason for doubt: programs may need all of it. Late packets
are, and so is a machine on which nothing could have been on time.
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
from streambed.units import shown

Reason = Literal["wrong", "late", "held up", "silent", "stolen", "stalled"]
STOLEN_SHARE = 0.1
"""Largest tolerated share of stolen CPU per second."""
SILENT_NS = 1_500_000_000
"""Longest tolerated time without a gauge of the delay line, which writes one every second."""
STALLED_S = 0.5
"""Largest tolerated delay of the sampler's wake-up."""
SECOND_NS = 1_000_000_000
SHORT_NS = 500_000_000
"""Shorter steps of counters are ignored: stolen time grows in ticks of 10 ms."""
LISTED = 3
"""How many links or spans a sentence names."""

SHARE_MAX = 0.2
"""A larger share of a declared delay is not printed: of a delay of 1 ms, 1 ms is all of it."""
REMEDY = (
    "To get punctual links: allow real-time priority (`streambed doctor` says how: "
    "`USER - rtprio 10` in /etc/security/limits.conf), cap the CPU of busy components, or declare "
    "longer delays."
)

SAYS: dict[Reason, str] = {
    "late": "packets left {} late",
    "held up": "the delay line waited for a CPU {} of the time",
    "silent": "the delay line was silent for {}",
    "stolen": "the hypervisor took {} of the CPU time",
    "stalled": "the sampler woke {} late",
}


@dataclass(frozen=True, kw_only=True)
class Span:
    """A span of time in doubt, in monotonic nanoseconds, and why."""

    start: int
    end: int
    says: str
    reasons: tuple[Reason, ...] = ()
    only_slower: bool = True
    """Packets were late, and nothing else was wrong: results that were fast enough would also have
    been with punctual links.
    """


@dataclass(frozen=True, kw_only=True)
class Fidelity:
    """Whether the results of a run can be trusted, in one sentence, and the spans in doubt."""

    believable: bool
    says: str
    spans: tuple[Span, ...] = ()
    within_ms: float | None = None
    """Largest error of any link outside the doubtful spans; None if unknown."""
    within_share: float | None = None
    """The same as a share of the declared delay; None without a delay."""


@dataclass(frozen=True)
class Doubt:
    """About one second in which something was wrong; `value` says how much."""

    start: int
    end: int
    reason: Reason
    value: float
    says: str = ""
    only_slower: bool = True


def calibrations(history: History) -> list[LinkCalibration]:
    """The calibration of every direction of every link."""
    return [direction for event in history.of(Calibrated) for direction in event.ways]


def least_delay_ns(directions: Iterable[LinkCalibration]) -> int:
    """The shortest delay that is declared; zero if none is."""
    return min(
        (direction.declared_ns for direction in directions if direction.declared_ns), default=0
    )


def fidelity(history: History) -> Fidelity:
    """Judge a run: from the start of its load until it stopped."""
    window = judged_window(history)
    if not window:
        return Fidelity(believable=False, says="link fidelity unknown: the load never began")
    if not history.of(Calibration):
        says = "link fidelity unknown: its links were not calibrated"
        return Fidelity(believable=False, says=says)
    directions = calibrations(history)
    doubts_in_window = clip_doubts(doubts(history, directions), *window)
    spans = merge_doubts(doubts_in_window)
    late_ns = _late_otherwise(history, spans, window)
    within_ms = max((direction.error_ns + late_ns for direction in directions), default=0) / 1e6
    shares = [
        (direction.error_ns + late_ns) / direction.declared_ns
        for direction in directions
        if direction.declared_ns
    ]
    within_share = max(shares, default=None)
    says = "no link was emulated"
    if directions:
        says = good_text(within_ms, within_share)
    if spans:
        says = doubtful_text(history, spans, _reasons(doubts_in_window), says)
    return Fidelity(
        believable=not spans,
        says=says,
        spans=spans,
        within_ms=within_ms,
        within_share=within_share,
    )


def good_text(within_ms: float, within_share: float | None) -> str:
    """The sentence of a run whose links were as declared."""
    share = ""
    if within_share is not None and within_share <= SHARE_MAX:
        share = f" and {_brief(100 * within_share)} %"
    return f"links were within {_brief(within_ms)} ms{share} of what was declared"


def _brief(value: float) -> str:
    return f"{value:.2g}" if value < 10 else f"{value:.0f}"


def judged_window(history: History) -> tuple[int, int] | None:
    """From the start of the load until the run stopped, or its last event; None if there was no
    load.
    """
    if history.load_ns is None:
        return None
    stops = (event.time for event in history.of(Phase) if event.phase == "stop")
    return history.load_ns, next(stops, history.events[-1].time)


def doubts(history: History, directions: list[LinkCalibration]) -> Iterator[Doubt]:
    """Every reason to doubt a run, also before and after its load."""
    end_ns = history.events[-1].time + SECOND_NS
    for direction in directions:
        if direction.wrong:
            yield Doubt(history.start_ns, end_ns, "wrong", 0, direction.text, direction.only_slower)
    yield from _doubts_of_delay_line(history, bound_ns(least_delay_ns(directions)))
    yield from _doubts_of_machine(history)


def _doubts_of_delay_line(history: History, tolerated_ns: float) -> Iterator[Doubt]:
    """When it released packets late, reported nothing, or waited for a CPU."""
    lateness = _steps(history, "delay_line_late_mean_ns", "delay_line_late_max_ns")
    for since, time, mean_ns, max_ns in lateness:
        if mean_ns > tolerated_ns:
            yield Doubt(since, time, "late", max_ns)
        if time - since > SILENT_NS:
            yield Doubt(since, time, "silent", time - since)
    waits = _growth(history, "delay_line_waited_s", "delay_line_turns")
    for since, time, waited_s, turns in waits:
        waited_ns = waited_s * 1e9
        if turns and waited_ns / turns > tolerated_ns:
            yield Doubt(since, time, "held up", min(1, waited_ns / (time - since)))


def _doubts_of_machine(history: History) -> Iterator[Doubt]:
    """When the hypervisor took CPU away, and when the sampler was woken late."""
    times = _growth(history, "machine_stolen_s", "machine_busy_s", "machine_idle_s")
    for since, time, stolen_s, busy_s, idle_s in times:
        total_s = stolen_s + busy_s + idle_s
        if stolen_s > STOLEN_SHARE * total_s:
            yield Doubt(since, time, "stolen", stolen_s / total_s)
    for since, time, late_s in _steps(history, "sampler_late_s"):
        if late_s > STALLED_S:
            yield Doubt(since, time, "stalled", late_s * 1e9)


def _steps(history: History, *metrics: str) -> Iterator[tuple[Any, ...]]:
    """For each time at which all of these metrics were sampled: the previous time, this time, and
    the values.
    """
    samples = history.samples.filter(pl.col("metric").is_in(metrics))
    values = [
        pl.col("value").filter(pl.col("metric") == metric).first().alias(metric)
        for metric in metrics
    ]
    table = samples.group_by("time").agg(values).drop_nulls().sort("time")
    before = None
    for time, *sampled in table.iter_rows():
        yield time - SECOND_NS if before is None else before, time, *sampled
        before = time


def _growth(history: History, *metrics: str) -> Iterator[tuple[Any, ...]]:
    """The same for counters: how much each has grown since the previous time."""
    steps = list(_steps(history, *metrics))
    for (_, _, *before), (since, time, *now) in pairwise(steps):
        if time - since > SHORT_NS:
            yield since, time, *(new - old for new, old in zip(now, before, strict=True))


def clip_doubts(doubts: Iterable[Doubt], start: int, end: int) -> list[Doubt]:
    """The parts of doubts between two times, in order of their start."""
    clipped = [
        replace(doubt, start=max(doubt.start, start), end=min(doubt.end, end)) for doubt in doubts
    ]
    inside = [doubt for doubt in clipped if doubt.start < doubt.end]
    return sorted(inside, key=lambda doubt: doubt.start)


def merge_doubts(doubts: list[Doubt]) -> tuple[Span, ...]:
    """Join doubts that touch each other, in order of their start, into spans. A span gives each
    reason once, with its worst value.
    """
    groups: list[list[Doubt]] = []
    for doubt in doubts:
        if groups and doubt.start <= max(other.end for other in groups[-1]):
            groups[-1].append(doubt)
        else:
            groups.append([doubt])
    return tuple(_span(group) for group in groups)


def _span(group: list[Doubt]) -> Span:
    return Span(
        start=group[0].start,
        end=max(doubt.end for doubt in group),
        says=_reasons(group),
        reasons=tuple(dict.fromkeys(doubt.reason for doubt in group)),
        only_slower=all(doubt.only_slower for doubt in group),
    )


def _reasons(group: list[Doubt]) -> str:
    wrong = [doubt.says for doubt in group if doubt.reason == "wrong"]
    more = [f"{len(wrong) - LISTED} more links are wrong"] if len(wrong) > LISTED else []
    parts = [*wrong[:LISTED], *more]
    for reason, text in SAYS.items():
        values = [doubt.value for doubt in group if doubt.reason == reason]
        if values:
            parts.append(text.format(_amount(reason, max(values))))
    return "; ".join(parts)


def _amount(reason: Reason, value: float) -> str:
    if reason in ("stolen", "held up"):
        return f"up to {100 * value:.0f} %"
    return f"up to {shown(value)}"


def _late_otherwise(history: History, spans: tuple[Span, ...], window: tuple[int, int]) -> float:
    """The largest mean lateness of a second outside the spans."""
    start, end = window
    means_ns = []
    for _, time, mean_ns in _steps(history, "delay_line_late_mean_ns"):
        in_doubt = any(span.start < time <= span.end for span in spans)
        if start <= time <= end and not in_doubt:
            means_ns.append(mean_ns)
    return max(means_ns, default=0.0)


def off_s(fidelity: Fidelity) -> float:
    """For how many seconds network timing was off."""
    return sum(span.end - span.start for span in fidelity.spans) / 1e9


def doubtful_text(history: History, spans: tuple[Span, ...], why: str, good: str) -> str:
    """The sentence of a run with doubtful spans; `good` is about the rest of the time."""
    start, end = judged_window(history) or (0, 0)
    if (spans[0].start, spans[0].end) == (start, end):
        return f"the network was not as declared: {why}"
    doubtful_s = sum(span.end - span.start for span in spans) / 1e9
    return (
        f"network timing was off for {doubtful_s:.0f} of {(end - start) / 1e9:.0f} s: {why}; "
        f"the rest of the time {good}"
    )
