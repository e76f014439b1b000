"""The rows of the check `log`: an anomaly, how often it was found, and the first offenders."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from streambed.judge.anomalies import BY_NUMBER, Anomaly
from streambed.judge.arrays import Topic, place_text
from streambed.judge.columns import NONE, batches_of_topic
from streambed.judge.findings import Evidence, Finding
from streambed.judge.promises import Promise
from streambed.kinds.evidence.course import faults_of, names_between
from streambed.record.history import History

NAMES_SHOWN = 5
RowAnswer = Literal["holds", "fails", "unknown", "allowed", "not judged"]


@dataclass(frozen=True, kw_only=True)
class LogRow:
    """One anomaly of one topic."""

    anomaly: Anomaly
    answer: RowAnswer
    count: int
    undecided: int
    excused: int
    promise: Promise
    why: str
    """Why it is unknown or not judged."""
    offenders: tuple[dict[str, Any], ...]
    unsure: bool
    """Data is missing that could show it."""

    @property
    def title(self) -> str:
        """Its number and name: A1 lost write."""
        return f"{self.anomaly.number} {self.plain_name}"

    @property
    def plain_name(self) -> str:
        """Its name as people write it: lost write."""
        return self.anomaly.name.replace("_", " ")

    @property
    def short(self) -> str:
        """Its title and how often it was found."""
        return f"{self.title} {self.count}"

    @property
    def says(self) -> str:
        """One clause for the verdict."""
        if not self.count:
            return f"{self.title} unknown: {self.why}"
        first = self.offenders[0]["says"] if self.offenders else self.anomaly.title
        more = f" and {self.count - 1} more" if self.count > 1 else ""
        promised = ""
        if self.promise.promised is False:
            promised = f" (not promised: {self.promise.because})"
        return f"{self.title}: {first}{more}{promised}"

    def evidence(self) -> dict[str, Any]:
        """The row as data."""
        return {
            "anomaly": self.anomaly.number,
            "name": self.anomaly.name,
            "title": self.anomaly.title,
            "answer": self.answer,
            "count": self.count,
            "undecided": self.undecided,
            "excused": self.excused,
            "promised": self.promise.promised,
            "because": self.promise.because,
            "why": self.why,
            "offenders": list(self.offenders),
        }


def row_of(
    history: History, topic: Topic, finding: Finding, promise: Promise, *, allowed: bool
) -> LogRow:
    """A finding as a row of the verdict."""
    why = finding.missing
    if finding.undecided and not why:
        why = f"{finding.undecided} undecided: {finding.why_undecided}"
    return LogRow(
        anomaly=BY_NUMBER[finding.anomaly],
        answer=_answer(finding, allowed=allowed),
        count=finding.count,
        undecided=finding.undecided,
        excused=finding.allowed,
        promise=promise,
        why=finding.not_judged or why,
        offenders=tuple(_offenders(history, topic, finding)),
        unsure=not finding.count and bool(finding.undecided or finding.missing),
    )


def _answer(finding: Finding, *, allowed: bool) -> RowAnswer:
    if finding.not_judged:
        return "not judged"
    if allowed:
        return "allowed" if finding.count else "holds"
    if finding.count:
        return "fails"
    return "unknown" if finding.undecided or finding.missing else "holds"


def _offenders(history: History, topic: Topic, finding: Finding) -> list[dict[str, Any]]:
    """The first offenders: what happened, to which records, where, and during which faults."""
    times = send_times(topic, [one.record for one in finding.evidence])
    offenders = []
    for one in finding.evidence:
        sent, acked = times.get(one.record, (NONE, NONE))
        start = sent if one.start == NONE else one.start
        end = acked if one.end == NONE else one.end
        during = _faults_between(history, start, end)
        says = _text(topic, one)
        if during:
            says += f" (during {during})"
        offenders.append(
            {
                "says": says,
                **_names(topic, one),
                "group": one.group,
                "start_s": None if start == NONE else history.seconds(start),
                "end_s": None if end == NONE else history.seconds(end),
                "during": during,
            }
        )
    return offenders


def _names(topic: Topic, evidence: Evidence) -> dict[str, str]:
    """The records and places of an offender as text; empty for those that it does not have."""
    records = {"record": evidence.record, "other": evidence.other}
    places = {"place": evidence.place, "other_place": evidence.other_place}
    names = dict.fromkeys(("record", "place", "other", "other_place"), "")
    for key, record in records.items():
        if record != NONE:
            names[key] = topic.name_of(record)
    for key, place in places.items():
        if place != NONE:
            names[key] = place_text(place)
    return names


def _faults_between(history: History, start: int, end: int) -> str:
    if start == NONE and end == NONE:
        return ""
    known = [time for time in (start, end) if time != NONE]
    return names_between(faults_of(history), start=min(known), end=max(known))


def _text(topic: Topic, evidence: Evidence) -> str:
    other_place = "its start"
    if evidence.other_place != NONE:
        other_place = place_text(evidence.other_place)
    return evidence.text.format(
        record=topic.name_of(evidence.record),
        place=place_text(evidence.place),
        other=topic.name_of(evidence.other),
        other_place=other_place,
    )


def send_times(topic: Topic, records: list[int]) -> dict[int, tuple[int, int]]:
    """When each of a few records was sent and acknowledged; NONE if it was not."""
    sent_records = [record for record in records if 0 <= record < len(topic.sends)]
    if not sent_records:
        return {}
    wanted = np.unique(sent_records).astype(np.int64)
    rows = wanted if topic.sends.rows is None else topic.sends.rows[wanted]
    by_row = dict(zip(rows.tolist(), wanted.tolist(), strict=True))
    times, first = {}, 0
    for batch in batches_of_topic(topic.ledger, "sent", topic.name, ("sent", "acked")):
        in_batch = (rows >= first) & (rows < first + len(batch))
        for row in rows[in_batch].tolist():
            sent, acked = (column[row - first].as_py() for column in batch.columns)
            times[by_row[row]] = (_time_or_none(sent), _time_or_none(acked))
        first += len(batch)
    return times


def _time_or_none(time: int | None) -> int:
    return NONE if time is None else time
