"""What brokers themselves show: replicas that differ, and readers that are stuck."""

from __future__ import annotations

import numpy as np

from streambed.judge.arrays import place_of
from streambed.judge.columns import NONE
from streambed.judge.findings import SHOWN, Evidence, Finding, ReplicaBatches
from streambed.judge.view import View
from streambed.record.ledger.schemas import Outcome

NO_FILES = "the files of the brokers could not be read"


def diverged_replicas(view: View) -> Finding:
    """A22: two brokers have different batches for the same offsets and the same leader epoch."""
    batches = view.facts.replicas
    if view.facts.compacted:
        return Finding(anomaly="A22", not_judged="compaction rewrites batches on each broker")
    if batches is None and view.facts.existing:
        return Finding(anomaly="A22", not_judged="the files of an existing cluster are not read")
    if batches is None:
        return Finding(anomaly="A22", missing=NO_FILES)
    order = np.lexsort((batches.first_offset, batches.leader_epoch, batches.partition))
    pairs = _overlapping(batches, order)
    text = "{place} has different batches on two brokers in one leader epoch"
    evidence = tuple(
        Evidence(
            text=text,
            place=place_of(int(batches.partition[two]), int(batches.first_offset[two])),
        )
        for _, two in pairs[:SHOWN]
    )
    return Finding(anomaly="A22", count=len(pairs), evidence=evidence)


def _overlapping(batches: ReplicaBatches, order: np.ndarray) -> list[tuple[int, int]]:
    """Neighbours of one partition and epoch that overlap and are not the same batch."""
    one, two = order[:-1], order[1:]
    same = batches.partition[one] == batches.partition[two]
    same &= batches.leader_epoch[one] == batches.leader_epoch[two]
    overlap = same & (batches.first_offset[two] <= batches.last_offset[one])
    alike = batches.first_offset[one] == batches.first_offset[two]
    alike &= batches.last_offset[one] == batches.last_offset[two]
    alike &= batches.checksum[one] == batches.checksum[two]
    wrong = np.flatnonzero(overlap & ~alike)
    return [(int(one[row]), int(two[row])) for row in wrong]


def stuck_readers(view: View) -> Finding:
    """A23: readers of committed records cannot reach the end of a partition, although no live
    producer has a transaction open; or a group holds a partition, is behind and reads nothing.
    """
    evidence, missing = [], ""
    known = [end for end in view.facts.ends.values() if end.stable is not None]
    for end in known:
        if end.end is not None and end.stable is not None and end.stable < end.end:
            opened = _open_by_live_producer(view, end.partition)
            if opened is None:
                missing = NO_FILES
            if opened is False:
                evidence.append(_stuck(end.partition, stable=end.stable, end=end.end))
    for (group, partition), since in view.facts.behind_since.items():
        text = f"{group} holds partition {partition}, is behind and reads nothing"
        evidence.append(Evidence(text=text, group=group, start=since))
    if not known:
        missing = "the last stable offsets after the drain are unknown"
    existing = view.facts.existing and not evidence
    return Finding(
        anomaly="A23",
        count=len(evidence),
        evidence=tuple(evidence[:SHOWN]),
        missing="" if existing else missing,
        not_judged=missing if existing else "",
    )


def _stuck(partition: int, *, stable: int, end: int) -> Evidence:
    return Evidence(
        text="readers of committed records are stuck at {place}; the log ends at {other_place}",
        place=place_of(partition, stable),
        other_place=place_of(partition, end),
    )


def _open_by_live_producer(view: View, partition: int) -> bool | None:
    """Whether a live producer has a transaction open; None if unknown.

    Without the brokers' files, a transaction counts as hung if its producer was killed inside it.
    """
    opened = view.facts.open_transactions
    if opened is not None:
        return any(one.live for one in opened if one.partition in (partition, NONE))
    table = view.topic.transactions
    unended = table.client[table.outcome == Outcome.UNKNOWN].tolist()
    killed = {view.topic.clients.known(name) for name in view.facts.unfinished_producers}
    return False if killed & set(unended) else None
