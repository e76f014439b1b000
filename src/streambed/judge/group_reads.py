"""Between the log and each group: records that it never saw, and records that it saw again."""

from __future__ import annotations

import numpy as np

from streambed.judge.arrays import OFFSET_MASK, Reads, place_of
from streambed.judge.columns import NONE, Bools, Int64s
from streambed.judge.findings import SHOWN, Evidence, Finding
from streambed.judge.hand_overs import rewinding_tenures
from streambed.judge.view import View, partition_of, stable_order, with_identity


def unseen(view: View) -> Finding:
    """A2: written, in the log or deleted from it, and a group that reads the topic never saw it.

    Beyond the last record that a group saw it is undecided, unless the group had caught up.
    """
    place, in_log = _written_places(view)
    count, undecided = 0, 0
    records: list[Int64s] = []
    evidence: list[Evidence] = []
    for group, reads in view.reads.items():
        seen = np.zeros(view.topic.record_count, bool)
        seen[with_identity(reads.record)] = True
        rows = np.flatnonzero(in_log & ~seen)
        rows = rows[~_not_wanted(view, group, reads, place[rows])]
        rows = rows[~_deleted_before(view, group, place[rows])]
        unsure = _beyond(view, group, reads, place[rows])
        missed = rows[~unsure]
        undecided += int(unsure.sum())
        count += len(missed)
        records.append(missed)
        evidence += _evidence_of_unseen(group, place, missed)
    return Finding(
        anomaly="A2",
        count=count,
        records=np.unique(np.concatenate(records)) if records else np.empty(0, np.int64),
        evidence=tuple(evidence[:SHOWN]),
        undecided=undecided,
        why_undecided="the run ended before a group reached them",
    )


def _evidence_of_unseen(group: str, place: Int64s, missed: Int64s) -> list[Evidence]:
    text = f"{{record}} was written at {{place}}, and {group} never saw it"
    return [
        Evidence(text=text, record=int(record), place=int(place[record]), group=group)
        for record in missed[:SHOWN]
    ]


def _written_places(view: View) -> tuple[Int64s, Bools]:
    """Where each record of the topic is, and whether a group must see it.

    What the log has is written, even if its producer was killed before it could record it.
    """
    place, wanted = view.written_place, view.written
    unsent = np.full(len(view.topic.strangers), NONE, np.int64)
    if view.committed is not None:
        wanted = wanted & ((view.in_log > 0) | _deleted(view, place))
        if len(unsent):
            unsent = view.first_places[len(view.sends) :]
    if not len(unsent):
        return place, wanted
    return np.append(place, unsent), np.append(wanted, unsent >= 0)


def _deleted(view: View, place: Int64s) -> Bools:
    """Whether a record was in the log and was deleted by the end."""
    if view.facts.compacted:
        return np.zeros(len(place), bool)
    return (place >= 0) & view.below_start(place)


def _deleted_before(view: View, group: str, place: Int64s) -> Bools:
    """Whether a record was deleted before a group began to read its partition."""
    gone = _deleted(view, place)
    tenures = view.topic.tenures
    begun: set[int] = set()
    for row in np.flatnonzero(tenures.group == view.topic.groups.known(group)).tolist():
        partition, start = int(tenures.partition[row]), int(tenures.start[row])
        if partition not in begun and start >= 0:  # They are sorted by time.
            begun.add(partition)
            gone &= (partition_of(place) != partition) | (place < place_of(partition, start))
    return gone & np.isin(partition_of(place), list(begun))


def _not_wanted(view: View, group: str, reads: Reads, place: Int64s) -> Bools:
    """Whether a place lies before the one at which the group began to read its partition."""
    begins = _first_positions(view, group)
    partitions = partition_of(place)
    wanted = np.zeros(len(place), bool)
    for partition in np.unique(partitions[place >= 0]).tolist():
        begin = begins.get(partition)
        if begin is None and group in view.facts.latest_groups:
            begin = _first_offset_read(reads, partition)
        wanted |= (partitions == partition) & ((place & OFFSET_MASK) >= (begin or 0))
    return ~wanted & (place >= 0)


def _first_positions(view: View, group: str) -> dict[int, int]:
    """The offset from which a group wants each partition, by its first assignment of it."""
    tenures = view.topic.tenures
    begins: dict[int, int] = {}
    for row in np.flatnonzero(tenures.group == view.topic.groups.known(group)).tolist():
        partition, start = int(tenures.partition[row]), int(tenures.start[row])
        if partition in begins or start < 0:  # They are sorted by time.
            continue
        origin = int(tenures.origin[row])
        from_start = origin >= 0 and view.topic.words.words[origin] in ("earliest", "all")
        begins[partition] = 0 if from_start else start
    return begins


def _first_offset_read(reads: Reads, partition: int) -> int:
    """The lowest offset that a group read of a partition; the highest possible if it read none."""
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
    count, allowed, undecided = 0, 0, 0
    records: list[Int64s] = []
    evidence: list[Evidence] = []
    for group, reads in view.reads.items():
        rows = _read_before(reads)
        if not len(rows):
            continue
        tenure = reads.tenure[rows]
        known = tenure != NONE
        undecided += int((~known).sum())
        again = _again_in_tenure(reads, rows)
        rewound = rewinding_tenures(view, group)[tenure]
        wrong = known & (again | rewound)
        allowed += int((known & ~wrong).sum())
        offenders = rows[wrong]
        count += len(offenders)
        records.append(reads.record[offenders].astype(np.int64))
        evidence += _evidence_of_rereads(group, reads, offenders)
    return Finding(
        anomaly="A20",
        count=count,
        records=np.concatenate(records) if records else np.empty(0, np.int64),
        evidence=tuple(evidence[:SHOWN]),
        undecided=undecided,
        why_undecided="their readers recorded no assignments",
        allowed=allowed,
    )


def _evidence_of_rereads(group: str, reads: Reads, rows: Int64s) -> list[Evidence]:
    return [
        Evidence(
            text=f"{group} read {{record}} at {{place}} again",
            record=int(reads.record[row]),
            place=int(reads.place[row]),
            group=group,
            end=int(reads.time[row]),
        )
        for row in rows[:SHOWN]
    ]


def _read_before(reads: Reads) -> Int64s:
    """The rows at whose place the group had read before, in order of time."""
    by_partition = reads.place[stable_order(np.maximum(partition_of(reads.place), 0))]
    if bool((np.diff(by_partition) > 0).all()):
        return np.empty(0, np.int64)  # The usual case without faults: no place occurs twice.
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
