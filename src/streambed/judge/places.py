"""Places: two records at one offset, and records that were read and later vanished."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from streambed.judge.arrays import Log, Reads
from streambed.judge.columns import NONE, Bools, Int32s, Int64s
from streambed.judge.findings import SHOWN, Evidence, Finding
from streambed.judge.view import View
from streambed.judge.writes import START_UNKNOWN
from streambed.record.ledger.schemas import Outcome


@dataclass(frozen=True)
class _Claims:
    """Claims of acks, polls or read-backs that a record is at a place."""

    place: Int64s
    record: Int32s
    index: Int32s | None = None
    """Where its places are in the log; None if that is not known yet."""


def inconsistent_offsets(view: View) -> Finding:
    """A4: acknowledgements, polls and read-backs name two records for one place."""
    base = view.uncommitted if view.uncommitted is not None else view.committed
    log = base if base is not None else view.inferred
    clashes = [_clashes(_claims_sorted(log.place, log.record))]
    unlogged = []
    for claims in _claims(view, log):
        index = log.index_of(claims.place) if claims.index is None else claims.index
        clashes.append(_clashes_with_log(log, claims, index))
        absent = index == NONE
        unlogged.append(_Claims(claims.place[absent], claims.record[absent]))
    if unlogged:
        place = np.concatenate([claims.place for claims in unlogged])
        record = np.concatenate([claims.record for claims in unlogged])
        clashes.append(_clashes(_claims_sorted(place, record)))
    return _finding_of(clashes)


@dataclass(frozen=True)
class _Clashes:
    place: Int64s
    one: Int64s
    two: Int64s


def _clashes_with_log(log: Log, claims: _Claims, index: Int32s | Int64s) -> _Clashes:
    """Claims of another record than the log has there; `index` is where each place is in it."""
    logged = log.record[np.maximum(index, 0)] if len(log) else index
    differs = (index != NONE) & (logged != claims.record) & (logged != NONE)
    one, two = logged[differs].astype(np.int64), claims.record[differs].astype(np.int64)
    return _Clashes(claims.place[differs], one, two)


def _claims(view: View, log: Log) -> list[_Claims]:
    """Every place and record that acks and reads name; the log's own claims are separate."""
    sends = view.sends
    # The place of an unknown send is its client's guess; it counts once the send is proven.
    placed = (sends.place >= 0) & (view.written | (sends.outcome == Outcome.ABORTED))
    claims = []
    if log.read_back:  # Otherwise the log is made of them.
        claims.append(_Claims(sends.place[placed], np.flatnonzero(placed).astype(np.int32)))
        for group, reads in view.reads.items():
            known = view.indexes(group) if view.log_of(group) is log.distinct else None
            claims.append(_claims_with_identity(reads.place, reads.record, known))
        for other in (view.committed, view.uncommitted):
            if other is not None and other is not log:
                claims.append(_claims_with_identity(other.place, other.record))
    return claims


def _claims_with_identity(place: Int64s, record: Int32s, index: Int32s | None = None) -> _Claims:
    known = (place >= 0) & (record >= 0)
    if known.all():
        return _Claims(place, record, index)
    return _Claims(place[known], record[known], None if index is None else index[known])


def _claims_sorted(place: Int64s, record: Int32s) -> _Claims:
    known = record >= 0
    place, record = place[known], record[known]
    if bool((place[1:] > place[:-1]).all()):
        return _Claims(place, record)
    order = np.lexsort((record, place))
    return _Claims(place[order], record[order])


def _clashes(claims: _Claims) -> _Clashes:
    """Neighbours at one place that name different records."""
    same = (claims.place[1:] == claims.place[:-1]) & (claims.record[1:] != claims.record[:-1])
    at = np.flatnonzero(same)
    one, two = claims.record[at].astype(np.int64), claims.record[at + 1].astype(np.int64)
    return _Clashes(claims.place[at], one, two)


def _finding_of(clashes: list[_Clashes]) -> Finding:
    place = np.concatenate([found.place for found in clashes])
    one = np.concatenate([found.one for found in clashes])
    two = np.concatenate([found.two for found in clashes])
    _, first = np.unique(place, return_index=True)
    text = "{place} holds {record}, and was {other} before"
    evidence = tuple(
        Evidence(text=text, place=int(place[row]), record=int(one[row]), other=int(two[row]))
        for row in first[:SHOWN]
    )
    records = np.unique(np.concatenate([one, two]))
    return Finding(anomaly="A4", count=len(first), records=records, evidence=evidence)


def vanished_reads(view: View) -> Finding:
    """A18: read at a place where the log, read back afterwards, has nothing.

    Each group is compared with the read-back of its own isolation level.
    """
    if view.facts.compacted:
        return Finding(anomaly="A18", not_judged="a compacted topic keeps the last record of a key")
    count, undecided, missing = 0, 0, ""
    records: list[Int64s] = []
    evidence: list[Evidence] = []
    for group, reads in view.reads.items():
        gone = _gone(view, group, reads)
        if gone is None:
            missing = f"the topic was not read back at the isolation level of {group}"
            continue
        rows = np.flatnonzero(gone)
        rows = rows[~view.below_start(reads.place[rows])]
        unsure = view.start_unknown(reads.place[rows])
        undecided += int(unsure.sum())
        _, first = np.unique(reads.place[rows[~unsure]], return_index=True)
        vanished = rows[~unsure][first]
        count += len(vanished)
        records.append(reads.record[vanished].astype(np.int64))
        evidence += _evidence_of_vanished(group, reads, vanished)
    return Finding(
        anomaly="A18",
        count=count,
        records=np.unique(np.concatenate(records)) if records else np.empty(0, np.int64),
        evidence=tuple(evidence[:SHOWN]),
        undecided=undecided,
        why_undecided=START_UNKNOWN,
        missing=missing,
    )


def _evidence_of_vanished(group: str, reads: Reads, rows: Int64s) -> list[Evidence]:
    text = f"{group} read {{record}} at {{place}}, where the log has nothing now"
    return [
        Evidence(
            text=text,
            record=int(reads.record[row]),
            place=int(reads.place[row]),
            group=group,
            start=int(reads.time[row]),
        )
        for row in rows[:SHOWN]
    ]


def _gone(view: View, group: str, reads: Reads) -> Bools | None:
    """Whether the log has nothing at the place of each row; None if it is unknown."""
    log = view.log_of(group)
    absent: Bools = np.zeros(len(reads), bool)
    if not len(reads):
        return absent
    if log is None:
        return None
    absent = (reads.place >= 0) & (view.indexes(group) == NONE)
    if group in view.facts.unknown_isolation_groups and absent.any():
        if view.uncommitted is None:
            return None
        absent &= view.uncommitted.index_of(reads.place) == NONE
    if log.began != NONE:
        absent &= reads.time < log.began  # What was written after the read-back is not in it.
    return absent
