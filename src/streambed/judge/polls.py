"""The order of polls within a tenure: skipped records, and records that come again.

Rows of a tenure are compared by their index in the log, so that holes in the offsets do not count.
Between tenures, see hand_overs.py.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from streambed.judge.arrays import OFFSET_BITS, Reads
from streambed.judge.columns import NONE, Bools, Int8s, Int32s, Int64s
from streambed.judge.findings import SHOWN, Evidence, Finding
from streambed.judge.view import View, stable_order
from streambed.record.ledger.schemas import Outcome

TEXTS = {
    "A6": "{group} got {record} at {place} right after {other_place} in one poll",
    "A7": "{group} got {record} at {place} after {other_place} in one poll",
    "A8": "{group} continued with {record} at {place} after {other_place}",
    "A9": "{group} went back to {record} at {place} after {other_place}",
}


@dataclass(frozen=True)
class _Steps:
    """Pairs of rows that follow each other in a tenure; `before` is NONE for the first of all."""

    before: Int64s
    after: Int64s
    distance: Int64s
    internal: Bools


def poll_orders(view: View) -> list[Finding]:
    """A6 to A9: skipped and repeated records within and between polls, for all groups."""
    findings = {name: Finding(anomaly=name) for name in TEXTS}
    for group, reads in view.reads.items():
        missing = _why_not(view, group, reads)
        steps = _steps(view, group, reads)
        masks = {
            "A6": steps.internal & (steps.distance > 1),
            "A7": steps.internal & (steps.distance < 1),
            "A8": ~steps.internal & (steps.distance > 1),
            "A9": ~steps.internal & (steps.distance < 1),
        }
        for name, mask in masks.items():
            found = _of_group(group, reads, steps, np.flatnonzero(mask), name)
            findings[name] = _merge_findings(findings[name], replace(found, missing=missing))
    return list(findings.values())


def _why_not(view: View, group: str, reads: Reads) -> str:
    known = reads.place >= 0
    if not bool(known.any()):
        return f"{group} knows no offsets" if len(reads) else ""
    if bool((reads.tenure[known] == NONE).any()):
        return f"{group} recorded no assignments"
    return ""


def _steps(view: View, group: str, reads: Reads) -> _Steps:
    rows = _rows_by_tenure(view, group, reads)
    index = view.indexes(group)[rows]
    starts = np.flatnonzero(np.diff(reads.tenure[rows], prepend=np.int32(NONE)) != 0)
    internal = _same_poll_as_before(reads.time[rows], starts)
    external = np.flatnonzero(~internal)
    before = np.arange(len(rows)) - 1
    before[external] = _last_successful(view, reads, rows, starts, external)
    follows = before >= 0
    first = before == NONE
    distance = np.zeros(len(rows), np.int64)
    distance[follows] = index[follows] - index[before[follows]]
    distance[first] = _from_start(view, group, reads, rows[first], index[first])
    earlier = np.where(follows, rows[np.maximum(before, 0)], NONE)
    judged = follows | first
    return _Steps(earlier[judged], rows[judged], distance[judged], internal[judged])


def _rows_by_tenure(view: View, group: str, reads: Reads) -> Int64s:
    """The rows whose place is in the log, by tenure, in the order of the polls.

    The others vanished, or were deleted: they have no neighbours.
    """
    rows = np.flatnonzero((view.indexes(group) != NONE) & (reads.tenure != NONE))
    return rows[stable_order(reads.tenure[rows])]


def _same_poll_as_before(time: Int64s, starts: Int64s) -> Bools:
    """Whether a row is of the same poll as the row before; `starts` are first rows of tenures."""
    same = np.ones(len(time), bool)
    same[1:] = time[1:] == time[:-1]
    same[starts] = False
    return same


UNJUDGED = -2


def _last_successful(
    view: View, reads: Reads, rows: Int64s, starts: Int64s, external: Int64s
) -> Int64s:
    """The row before each poll from which its reader must continue: NONE if it is the first of its
    tenure, UNJUDGED if it is unknown.

    A transaction that was aborted does not move its reader; one whose outcome is unknown may have.
    """
    tenure_start = np.repeat(starts, np.diff(np.append(starts, len(rows))))[external]
    transaction = reads.transaction[rows]
    if not len(rows) or int(transaction.max()) < 0:
        previous = external - 1
        return np.where(previous < tenure_start, NONE, previous)
    outcome = _outcomes_of_reads(view, transaction)
    earlier = np.maximum(external - 1, 0)
    last = _last_with(outcome == Outcome.WRITTEN)[earlier]
    doubt = _last_with(outcome == Outcome.UNKNOWN)[earlier]
    first = external == tenure_start
    last = np.where(first | (last < tenure_start), NONE, last)
    in_doubt = ~first & (doubt >= tenure_start) & (doubt > last)
    return np.where(in_doubt, UNJUDGED, last)


def _outcomes_of_reads(view: View, transaction: Int32s) -> Int8s:
    """How the transaction of each read ended; a read outside of any counts as committed."""
    outcome = np.full(len(transaction), Outcome.WRITTEN, np.int8)
    inside = transaction >= 0
    outcome[inside] = view.topic.transactions.outcome[transaction[inside]]
    return outcome


def _last_with(mask: Bools) -> Int64s:
    """For each row the last one up to it with a property; NONE if there is none."""
    return np.maximum.accumulate(np.where(mask, np.arange(len(mask)), NONE))


def _from_start(view: View, group: str, reads: Reads, rows: Int64s, index: Int64s) -> Int64s:
    """How far the first record of a tenure lies from its start; 1 if it is the next one."""
    log = view.log_or_inferred(group).distinct
    tenures = view.topic.tenures
    tenure = reads.tenure[rows]
    start = tenures.start[tenure]
    place = (tenures.partition[tenure] << OFFSET_BITS) | np.maximum(start, 0)
    distance: Int64s = index - np.searchsorted(log.place, place) + 1
    # Kafka moves a position before the start of the log to the start.
    return np.where(start < 0, 1, distance)


def _of_group(group: str, reads: Reads, steps: _Steps, at: Int64s, name: str) -> Finding:
    evidence = []
    for row in at[:SHOWN]:
        before, after = int(steps.before[row]), int(steps.after[row])
        evidence.append(
            Evidence(
                text=TEXTS[name].replace("{group}", group),
                record=int(reads.record[after]),
                place=int(reads.place[after]),
                other=int(reads.record[before]) if before != NONE else NONE,
                other_place=int(reads.place[before]) if before != NONE else NONE,
                group=group,
                start=int(reads.time[before]) if before != NONE else NONE,
                end=int(reads.time[after]),
            )
        )
    records = reads.record[steps.after[at]].astype(np.int64)
    return Finding(anomaly=name, count=len(at), records=records, evidence=tuple(evidence))


def _merge_findings(one: Finding, two: Finding) -> Finding:
    return replace(
        one,
        count=one.count + two.count,
        records=np.concatenate([one.records, two.records]),
        evidence=(one.evidence + two.evidence)[:SHOWN],
        missing=one.missing or two.missing,
    )
