"""Between the log and each group: records that it never saw, and records that it saw again."""

from __future__ import annotations

import numpy as np

from streambed.judge.arrays import OFFSET_MASK, Reads
from streambed.judge.columns import NONE, Bools, Int64s
from streambed.judge.findings import SHOWN, Evidence, Finding
from streambed.judge.hand_overs import rewinding_tenures
from streambed.judge.view import View, partition_of, stable_order, with_identity


def unseen(view: View) -> Finding:
    """A2: written and in the log, and a group that read the topic never saw it.

    Beyond the last record that a group saw it is undecided, unless the group had caught up.
    """
    in_log = view.written & (view.in_log > 0) if view.committed is not None else view.written
    place = view.written_place
    undecided = 0
    evidence: list[Evidence] = []
    records = [np.empty(0, np.int64)]
    for group, reads in view.topic.reads.items():
        seen = np.zeros(view.topic.record_count, bool)
        seen[with_identity(reads.record)] = True
        rows = np.flatnonzero(in_log & ~seen[: len(view.sends)])
        rows = rows[~_not_wanted(view, group, reads, place[rows])]
        unsure = _beyond(view, group, reads, place[rows])
        undecided += int(unsure.sum())
        missed = rows[~unsure]
        records.append(missed)
        evidence += _evidence_of_missed(group, missed, place)
    all_missed = np.concatenate(records)
    return Finding(
        anomaly="A2",
        count=len(all_missed),
        records=np.unique(all_missed),
        evidence=tuple(evidence[:SHOWN]),
        undecided=undecided,
        why_undecided="the run ended before a group reached them",
    )


def _evidence_of_missed(group: str, missed: Int64s, place: Int64s) -> list[Evidence]:
    text = f"{{record}} is in the log at {{place}}, and {group} never saw it"
    return [
        Evidence(text=text, record=int(record), place=int(place[record]), group=group)
        for record in missed[:SHOWN]
    ]


def _not_wanted(view: View, group: str, reads: Reads, place: Int64s) -> Bools:
    """Whether a place lies before the one at which the group began to read its partition."""
    begins = _first_offsets(view, group)
    wanted = np.zeros(len(place), bool)
    for partition in np.unique(partition_of(place[place >= 0])):
        begin = begins.get(int(partition))
        if begin is None:
            begin = 0
            if group in view.facts.latest_groups:
                begin = _least_offset(reads, int(partition))
        inside = partition_of(place) == partition
        wanted |= inside & ((place & OFFSET_MASK) >= begin)
    return ~wanted & (place >= 0)


def _first_offsets(view: View, group: str) -> dict[int, int]:
    """Where the first tenure of a group began, by partition; tenures are sorted by time."""
    tenures = view.topic.tenures
    begins: dict[int, int] = {}
    for row in np.flatnonzero(tenures.group == view.topic.groups.known(group)):
        partition, start = int(tenures.partition[row]), int(tenures.start[row])
        if partition in begins or start < 0:
            continue
        origin = ""
        if tenures.origin[row] >= 0:
            origin = view.topic.words.words[tenures.origin[row]]
        begins[partition] = 0 if origin in ("earliest", "all") else start
    return begins


def _least_offset(reads: Reads, partition: int) -> int:
    """The least offset that was read of a partition; beyond every offset if none was."""
    own = reads.place[partition_of(reads.place) == partition]
    return int(own.min()) & OFFSET_MASK if len(own) else OFFSET_MASK


def _beyond(view: View, group: str, reads: Reads, place: Int64s) -> Bools:
    """Whether the run may have ended before a group reached a place."""
    unread = view.facts.unread.get(group, frozenset())
    unsure: Bools = place < 0
    if unread is not None and not unread:
        return unsure
    partition = partition_of(place)
    behind = np.ones(len(place), bool) if unread is None else np.isin(partition, list(unread))
    last = np.full(1 + int(max(partition.max(initial=0), 0)), NONE, np.int64)
    own = partition_of(reads.place)
    known = (own >= 0) & (own < len(last))
    np.maximum.at(last, own[known], reads.place[known])
    return unsure | (behind & (place > last[np.maximum(partition, 0)]))


def rereads(view: View) -> Finding:
    """A20: a group read a place again in the same tenure, or in one that began before its commit.

    After a hand-over a group may read again what was not committed: at least once allows it.
    """
    allowed, undecided = 0, 0
    evidence: list[Evidence] = []
    records = [np.empty(0, np.int64)]
    for group, reads in view.topic.reads.items():
        rows = _read_before(reads)
        if not len(rows):
            continue
        tenure = reads.tenure[rows]
        recorded = tenure != NONE
        undecided += int((~recorded).sum())
        again = _again_in_tenure(reads, rows) | rewinding_tenures(view, group)[tenure]
        wrong = recorded & again
        allowed += int((recorded & ~wrong).sum())
        offenders = rows[wrong]
        records.append(reads.record[offenders].astype(np.int64))
        evidence += _evidence_of_rereads(group, reads, offenders)
    reread = np.concatenate(records)
    return Finding(
        anomaly="A20",
        count=len(reread),
        records=reread,
        evidence=tuple(evidence[:SHOWN]),
        undecided=undecided,
        why_undecided="their readers recorded no assignments",
        allowed=allowed,
    )


def _evidence_of_rereads(group: str, reads: Reads, offenders: Int64s) -> list[Evidence]:
    return [
        Evidence(
            text=f"{group} read {{record}} at {{place}} again",
            record=int(reads.record[row]),
            place=int(reads.place[row]),
            group=group,
            end=int(reads.time[row]),
        )
        for row in offenders[:SHOWN]
    ]


def _read_before(reads: Reads) -> Int64s:
    """The rows at whose place the group had read before, in order of time."""
    by_partition = reads.place[stable_order(np.maximum(partition_of(reads.place), 0))]
    if bool((np.diff(by_partition) > 0).all()):
        return np.empty(0, np.int64)  # As it is without faults: no place comes twice.
    order = np.lexsort((np.arange(len(reads)), reads.time, reads.place))
    again = np.flatnonzero(np.diff(reads.place[order]) == 0) + 1
    rows = order[again]
    return np.sort(rows[reads.place[rows] >= 0])


def _again_in_tenure(reads: Reads, rows: Int64s) -> Bools:
    """Whether the same tenure read that place before."""
    suspects = np.isin(reads.place, reads.place[rows])
    at = np.flatnonzero(suspects)
    order = at[np.lexsort((at, reads.tenure[at], reads.place[at]))]
    same = (np.diff(reads.place[order]) == 0) & (np.diff(reads.tenure[order]) == 0)
    again = np.zeros(len(reads), bool)
    again[order[1:][same]] = True
    chosen: Bools = again[rows]
    return chosen
