"""Verdict cards and the headline of a report.

Evidence is shown by its names, so that checks of other packages get cards too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from streambed.record.fidelity import REMEDY, Fidelity
from streambed.record.history import History, Verdict, worst
from streambed.results.why.journey import Journey, journey_of
from streambed.results.why.record_name import RecordName
from streambed.units import count_of, shown

RANGES = 12
"""Most ranges of lost records on a card."""
JOURNEYS = 3
"""Most records whose journeys are on a card."""
OFFENDERS = ("lost", "missing_records", "doubled_records")
"""Evidence that lists records."""
IDENTITY = ["producer", "sequence"]
STATISTICS = ("p50", "p90", "p95", "p99", "p999", "max")
ALWAYS_SHOWN = ("p50", "p99", "max")
SHOWN_OTHERWISE = {"rows", "lost", "limits_ns", "readers", "worst", "in_doubtful_time"} | {
    f"{name}_ns" for name in STATISTICS
}
"""Evidence that a card shows in another form than as a row of its table."""


@dataclass(frozen=True, kw_only=True)
class LostRange:
    """Neighbouring lost records, and when they were due."""

    text: str
    from_s: float | None = None
    to_s: float | None = None


@dataclass(frozen=True, kw_only=True)
class Loss:
    """Lost records of one place: `where` says which."""

    where: str
    ranges: Sequence[LostRange]
    more: int = 0
    """Ranges that are left out."""


@dataclass(frozen=True, kw_only=True)
class ToldJourney:
    """What happened to one record, a line for each step."""

    record: str
    lines: Sequence[str]


@dataclass(frozen=True, kw_only=True)
class Bar:
    """A measured value against its limit, in percent of the longest bar."""

    name: str
    value: str
    percent: float
    limit: str = ""
    limit_percent: float = 0.0
    over: bool = False


@dataclass(frozen=True, kw_only=True)
class Card:
    """One verdict."""

    answer: str
    check: str
    about: str
    says: str
    brief: str
    lines: Sequence[str]
    losses: Sequence[Loss]
    journeys: Sequence[ToldJourney]
    bars: Sequence[Bar]
    evidence: dict[str, Any]
    doubt: str


def headline(verdicts: Sequence[Verdict]) -> str:
    """The worst answers in words, such as "80 of 3,600 acknowledged records of orders lost"."""
    answer = worst(verdicts)
    worst_ones = [verdict for verdict in verdicts if verdict.answer == answer]
    return " · ".join(_brief(verdict) for verdict in worst_ones)


def _brief(verdict: Verdict) -> str:
    return verdict.brief or f"{verdict.check} {verdict.about}".strip()


def cards(verdicts: Iterable[Verdict], history: History, fidelity: Fidelity) -> list[Card]:
    """A card for each verdict, in the order of the checks."""
    return [_card(verdict, history, fidelity) for verdict in verdicts]


def _card(verdict: Verdict, history: History, fidelity: Fidelity) -> Card:
    evidence = verdict.evidence
    rest = {key: value for key, value in evidence.items() if key not in SHOWN_OTHERWISE}
    return Card(
        answer=verdict.answer,
        check=verdict.check,
        about=verdict.about,
        says=verdict.says,
        brief=_brief(verdict),
        lines=_lines(evidence, history),
        losses=_losses(evidence.get("lost"), history),
        journeys=_journeys(evidence, history),
        bars=_bars(evidence),
        evidence={} if _says_nothing(rest) else rest,
        doubt=_doubt(verdict, fidelity),
    )


def _says_nothing(evidence: dict[str, Any]) -> bool:
    """A lone status adds nothing to the answer."""
    return set(evidence) <= {"status"}


def _lines(evidence: dict[str, Any], history: History) -> list[str]:
    """What each reader saw, the slowest stretch, and the anomalies."""
    lines = []
    readers = evidence.get("readers")
    if isinstance(readers, dict):
        lines += [_reader_line(name, saw, evidence.get("acked")) for name, saw in readers.items()]
    worst_stretch = evidence.get("worst")
    if isinstance(worst_stretch, dict):
        zero_s = history.seconds(history.zero_ns)
        start, end = (worst_stretch[key] - zero_s for key in ("start_s", "end_s"))
        during = worst_stretch.get("during")
        overlaps = f", overlaps {during}" if during else ""
        lines.append(f"slowest from {start:.1f} s to {end:.1f} s{overlaps}")
    return lines + _anomaly_lines(evidence.get("rows"))


def _anomaly_lines(rows: object) -> list[str]:
    """The anomalies that were found or are unknown, with the first offender; the others in one
    line.
    """
    if not isinstance(rows, list) or not all("anomaly" in row for row in rows):
        return []
    lines = []
    quiet: dict[str, list[str]] = {}
    for row in rows:
        if not row["count"] and row["answer"] != "unknown":
            quiet.setdefault(row["answer"], []).append(row["anomaly"])
            continue
        lines.append(_anomaly_line(row))
    for answer, title in (("holds", "not found"), ("not judged", "not judged")):
        if answer in quiet:
            lines.append(f"{title}: {', '.join(quiet[answer])}")
    return lines


def _anomaly_line(row: dict[str, Any]) -> str:
    title = f"{row['anomaly']} {row['name'].replace('_', ' ')}"
    if row["answer"] == "unknown":
        return f"{title}: unknown, {row['why']}"
    first = f", such as: {row['offenders'][0]['says']}" if row["offenders"] else ""
    allowed = "; allowed" if row["answer"] == "allowed" else ""
    promised = "" if row["promised"] else f"; not promised: {row['because']}"
    return f"{title}, {row['count']:,}{first}{allowed}{promised}"


def _reader_line(name: str, saw: dict[str, int], acked: int | None) -> str:
    duplicates = saw.get("duplicates", 0)
    twice = f", {count_of(duplicates, 'duplicate')}" if duplicates else ""
    of = "" if acked is None else f" of {acked:,} acknowledged records"
    return f"{name} saw {saw['seen']:,}{of}{twice}"


def _journeys(evidence: dict[str, Any], history: History) -> list[ToldJourney]:
    """What happened to the first records that are lost, missing or doubled."""
    records: dict[RecordName, None] = {}
    for key in OFFENDERS:
        rows = evidence.get(key)
        for row in rows if isinstance(rows, list) else ():
            if isinstance(row, dict) and row.get("producer") is not None:
                name = RecordName(producer=row["producer"], sequence=row["sequence"])
                records.setdefault(name)
    first = list(records)[:JOURNEYS]
    return [_told(journey_of(history, name), history) for name in first]


def _told(journey: Journey, history: History) -> ToldJourney:
    lines = [
        f"{text} (after the run)" if seconds is None else f"{seconds:.3f} s: {text}"
        for seconds, text in journey.lines(history)
    ]
    if journey.mechanism:
        lines.append(str(journey.mechanism))
    return ToldJourney(record=str(journey.record), lines=lines)


def _losses(lost: object, history: History) -> list[Loss]:
    """Lost records as ranges of neighbours, by where they were lost."""
    if not isinstance(lost, list) or not lost or not isinstance(lost[0], dict):
        return []
    table = pl.DataFrame(lost, infer_schema_length=None)
    due = history.ledger.sent.select(*IDENTITY, due="due")
    losses = []
    for (where,), records in table.group_by("where", maintain_order=True):
        named = records.select(IDENTITY).unique().sort(IDENTITY)
        dated = named.join(due, on=IDENTITY, how="left", maintain_order="left")
        ranges = _ranges(dated, history)
        losses.append(
            Loss(where=str(where), ranges=ranges[:RANGES], more=max(0, len(ranges) - RANGES))
        )
    return losses


def _ranges(records: pl.DataFrame, history: History) -> list[LostRange]:
    # Within a run of neighbours, sequence and row number grow together.
    run = pl.col("sequence") - pl.col("row").cast(pl.Int64)
    runs = records.with_row_index("row").group_by("producer", run=run, maintain_order=True)
    spans = runs.agg(
        first=pl.col("sequence").first(),
        last=pl.col("sequence").last(),
        start=pl.col("due").min(),
        end=pl.col("due").max(),
    )
    ranges = []
    for row in spans.iter_rows(named=True):
        numbers = f"{row['first']}–{row['last']}" if row["last"] > row["first"] else row["first"]
        times_s = [
            None if row[key] is None else round(history.load_seconds(row[key]), 2)
            for key in ("start", "end")
        ]
        text = f"{row['producer']} {numbers}"
        ranges.append(LostRange(text=text, from_s=times_s[0], to_s=times_s[1]))
    return ranges


def _bars(evidence: dict[str, Any]) -> list[Bar]:
    """p50, p99, max and all that has a limit; a value that is missing is "never"."""
    limits = evidence.get("limits_ns") or {}
    names = [name for name in STATISTICS if name in ALWAYS_SHOWN or name in limits]
    measured = {name: evidence[f"{name}_ns"] for name in names if f"{name}_ns" in evidence}
    finite = [value for value in (*measured.values(), *limits.values()) if value]
    if not finite:
        return []
    longest = max(finite)
    return [_bar(name, value, limits.get(name), longest) for name, value in measured.items()]


def _bar(name: str, value: float | None, limit: float | None, longest: float) -> Bar:
    bar = Bar(name=name, value="never", percent=100)
    if value is not None:
        bar = replace(bar, value=shown(value), percent=round(100 * value / longest, 2))
    if limit is None:
        return bar
    return replace(
        bar,
        limit=f"limit {shown(limit)}",
        limit_percent=round(100 * limit / longest, 2),
        over=value is None or value > limit,
    )


def _doubt(verdict: Verdict, fidelity: Fidelity) -> str:
    """Why the verdict depends on a network that was off, and what helps; empty if it does not."""
    if not verdict.doubted:
        return ""
    in_doubt = verdict.evidence["in_doubtful_time"]
    return f"{count_of(in_doubt, 'record')} on the way while {fidelity.says}. {REMEDY}"


def limits_of(verdicts: Iterable[Verdict]) -> dict[str, float]:
    """Every limit of latency by name, in seconds."""
    limits = {}
    for verdict in verdicts:
        for name, limit_ns in (verdict.evidence.get("limits_ns") or {}).items():
            limits[f"limit {name} {verdict.about} {shown(limit_ns)}"] = limit_ns / 1e9
    return limits
