"""A17: what happens between two tenures of a group on one partition.

A tenure must begin with what the group committed. A commit whose reply a killed client never saw is
not in the ledger, so that a tenure may begin after the last commit that is known. It skips records
only if it begins after the last record that any earlier tenure noted: records are noted before
their offset is committed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from streambed.judge.arrays import OFFSET_MASK, Log, Reads, place_of
from streambed.judge.columns import NONE, Bools, Int64s
from streambed.judge.findings import SHOWN, Evidence, Finding
from streambed.judge.view import View

FROM_START = ("earliest", "all")
"""Origins of tenures that must begin with the first record of the log."""


@dataclass(frozen=True, kw_only=True)
class _HandOver:
    """A tenure, and what its group had read and committed before it began."""

    tenure: int
    partition: int
    start: int
    read_to: int
    """The offset that earlier tenures had reached; NONE if there were none."""
    read_at: int
    committed: int
    """The last offset that was known to be committed; NONE if there was none."""


def hand_overs(view: View) -> Finding:
    """A17: tenures that skip records or rewind behind a commit, and commits of unread records."""
    evidence: list[Evidence] = []
    missing, excused = "", 0
    for group, reads in view.reads.items():
        if len(reads) and not bool((reads.tenure != NONE).any()):
            missing = f"{group} recorded no assignments"
            continue
        if _commits_missing(view, group):
            missing = f"{group} recorded no commits"
        for one in _hand_overs(view, group, reads):
            evidence += _judge(view, group, one)
            excused += one.committed < one.start <= one.read_to and one.committed != NONE
        evidence += _commits_of_unread(view, group, reads)
    return Finding(
        anomaly="A17",
        count=len(evidence),
        evidence=tuple(evidence[:SHOWN]),
        missing=missing,
        allowed=excused,
    )


def _commits_missing(view: View, group: str) -> bool:
    """Whether a group began with a commit, and the ledger has none of it."""
    number = view.topic.groups.known(group)
    tenures = view.topic.tenures
    began = (tenures.group == number) & (tenures.origin == view.topic.words.known("committed"))
    return bool(began.any()) and not bool((view.topic.commits.group == number).any())


def _judge(view: View, group: str, one: _HandOver) -> Iterator[Evidence]:
    """What is wrong with one hand-over."""
    began = int(view.topic.tenures.began[one.tenure])
    start = place_of(one.partition, one.start)
    if one.committed != NONE and one.start < one.committed:
        yield Evidence(
            text=f"{group} began at {{place}}, before its commit at {{other_place}}",
            place=start,
            other_place=place_of(one.partition, one.committed),
            group=group,
            end=began,
        )
        return
    since = one.read_to
    if since == NONE:
        if _origin(view, one.tenure) not in FROM_START:
            return  # It may begin with the newest record, or with what an older run committed.
        since = 0
    passed = _records_between(
        view.log_or_inferred(group).distinct, place_of(one.partition, since), start
    )
    if passed > 0:
        yield Evidence(
            text=f"{group} began at {{place}} and skipped {passed} from {{other_place}} on",
            place=start,
            other_place=place_of(one.partition, since),
            group=group,
            start=one.read_at,
            end=began,
        )


def _origin(view: View, tenure: int) -> str:
    origin = int(view.topic.tenures.origin[tenure])
    return "" if origin == NONE else view.topic.words.words[origin]


def _records_between(log: Log, first: int, past: int) -> int:
    return int(np.searchsorted(log.place, past) - np.searchsorted(log.place, first))


def _hand_overs(view: View, group: str, reads: Reads) -> Iterator[_HandOver]:
    """The tenures of a group with a known start, by time."""
    tenures = view.topic.tenures
    number = view.topic.groups.known(group)
    last_place, last_time = _last_rows(view, reads)
    of_group = (tenures.group == number) & (tenures.start >= 0)
    for partition in np.unique(tenures.partition[of_group]).tolist():
        rows = np.flatnonzero(of_group & (tenures.partition == partition)).tolist()
        committed = _committed_before(view, number, partition, rows)
        read_to, read_at = NONE, NONE
        for tenure, offset in zip(rows, committed, strict=True):
            yield _HandOver(
                tenure=tenure,
                partition=partition,
                start=int(tenures.start[tenure]),
                read_to=read_to,
                read_at=read_at,
                committed=offset,
            )
            read_to = max(read_to, _offset_reached(view, tenure, last_place))
            read_at = max(read_at, int(last_time[tenure]))


def _committed_before(view: View, group: int, partition: int, tenures: list[int]) -> list[int]:
    """The last offset that a group had committed when each tenure began; NONE if there is none."""
    commits = view.topic.commits
    mine = (commits.group == group) & (commits.partition == partition)
    offsets = np.append(np.int64(NONE), commits.offset[mine])
    began = view.topic.tenures.began[tenures]
    earlier = np.searchsorted(commits.time[mine], began, side="right")
    return [int(offset) for offset in offsets[earlier]]


def _offset_reached(view: View, tenure: int, last_place: Int64s) -> int:
    """The offset after the last record that a tenure read, or where it began."""
    if last_place[tenure] == NONE:
        return int(view.topic.tenures.start[tenure])
    return (int(last_place[tenure]) & OFFSET_MASK) + 1


def _last_rows(view: View, reads: Reads) -> tuple[Int64s, Int64s]:
    """The farthest place, and the last time, at which each tenure read."""
    place = np.full(len(view.topic.tenures), NONE, np.int64)
    time = place.copy()
    # Rows of a tenure come in long stretches, as they were written.
    starts = np.flatnonzero(np.diff(reads.tenure, prepend=np.int32(NONE - 1)))
    if not len(starts):
        return place, time
    tenure = reads.tenure[starts]
    noted = tenure != NONE
    farthest = np.maximum.reduceat(reads.place, starts)[noted]
    latest = np.maximum.reduceat(reads.time, starts)[noted]
    np.maximum.at(place, tenure[noted], farthest)
    np.maximum.at(time, tenure[noted], latest)
    return place, time


def rewinding_tenures(view: View, group: str) -> Bools:
    """Whether each tenure began before what its group had committed."""
    rewinding = np.zeros(len(view.topic.tenures) + 1, bool)  # The last one is for no tenure.
    for one in _hand_overs(view, group, view.reads[group]):
        rewinding[one.tenure] = one.committed != NONE and one.start < one.committed
    return rewinding


def _reached_by_holder(view: View, reads: Reads) -> dict[tuple[int, int], int]:
    """The offset that each life of a client reached in each partition that it held."""
    tenures = view.topic.tenures
    last_place, _ = _last_rows(view, reads)
    reached: dict[tuple[int, int], int] = {}
    for tenure in range(len(tenures)):
        holder = int(tenures.client[tenure]), int(tenures.partition[tenure])
        offset = _offset_reached(view, tenure, last_place)
        reached[holder] = max(reached.get(holder, NONE), offset)
    return reached


def _commits_of_unread(view: View, group: str, reads: Reads) -> Iterator[Evidence]:
    """Commits beyond what a life had read, or of a partition that it never held."""
    commits = view.topic.commits
    log = view.log_or_inferred(group).distinct
    reached = _reached_by_holder(view, reads)
    for row in np.flatnonzero(commits.group == view.topic.groups.known(group)).tolist():
        partition, time = int(commits.partition[row]), int(commits.time[row])
        place = place_of(partition, int(commits.offset[row]))
        position = reached.get((int(commits.client[row]), partition))
        if position is None:
            text = f"{group} committed {{place}} by a client that did not hold it"
            yield Evidence(text=text, place=place, group=group, end=time)
        elif position != NONE and _records_between(log, place_of(partition, position), place) > 0:
            yield Evidence(
                text=f"{group} committed {{place}} and had read to {{other_place}}",
                place=place,
                other_place=place_of(partition, position),
                group=group,
                end=time,
            )
