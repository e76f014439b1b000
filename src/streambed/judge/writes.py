"""Between producers and the log: lost writes, aborted reads, duplicates and phantoms."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from streambed.judge.arrays import Log
from streambed.judge.columns import NONE, Bools, Int64s
from streambed.judge.findings import SHOWN, Evidence, Finding
from streambed.judge.reading.identities import Identities, sort_keys
from streambed.judge.view import View, partition_of, with_identity
from streambed.record.ledger.schemas import Outcome

NO_READ_BACK = "the topic was not read back"
START_UNKNOWN = "they may have been deleted: the start of the log is unknown"


def lost_writes(view: View) -> Finding:
    """A1: written, and not in the log that was read back.

    Without a read-back as Jepsen defines it: written below the last place that any reader read,
    and read by none.
    """
    if view.facts.compacted:
        return Finding(anomaly="A1", not_judged="a compacted topic keeps the last record of a key")
    if view.committed is None:
        return _lost_below_reads(view)
    # A reader may have seen it and the log lost it afterwards: that is a loss as well.
    gone = view.written & (view.in_log == 0)
    gone &= ~view.below_start(view.sends.place)
    unsure = gone & (view.start_unknown(view.sends.place) | _anonymous(view))
    lost = np.flatnonzero(gone & ~unsure)
    return Finding(
        anomaly="A1",
        count=len(lost),
        records=lost,
        evidence=_evidence_of_lost(view, lost),
        undecided=int(unsure.sum()),
        why_undecided=START_UNKNOWN,
        missing=_no_outcome(view),
    )


def _no_outcome(view: View) -> str:
    """Why no loss could be found: not one send is known to be written or refused."""
    known = view.written.any() or bool((view.sends.outcome != Outcome.UNKNOWN).any())
    return "" if known or not len(view.sends) else "no send has a known outcome"


def _anonymous(view: View) -> Bools:
    """Whether each record is of a user's program that may write no identity into its records."""
    anonymous = np.zeros(len(view.topic.clients) + 1, bool)
    for name in view.facts.anonymous_producers:
        anonymous[view.topic.clients.known(name)] = True
    anonymous[NONE] = False
    if anonymous.any():
        found = view.sends.producer[view.in_log > 0]
        anonymous[found] = False  # One found record proves that its producer writes identities.
    return anonymous[view.sends.producer]


def _lost_below_reads(view: View) -> Finding:
    """A1 without a read-back."""
    log = view.inferred
    order = _InferredOrder.of(log, view.topic.record_count)
    seen = np.zeros(view.topic.record_count, bool)
    furthest = np.full(order.partition_count, NONE, np.int64)
    for reads in view.reads.values():
        records = with_identity(reads.record)
        seen[records] = True
        indexes = order.first[records]
        reached = indexes[indexes >= 0]
        np.maximum.at(furthest, order.partitions_at(reached), reached)
    unread = view.written & ~seen[: len(view.sends)]
    index = order.last[: len(view.sends)]
    partition = order.partitions_at(np.maximum(index, 0))
    below_reads = (index >= 0) & (index <= furthest[np.maximum(partition, 0)])
    lost = np.flatnonzero(unread & below_reads)
    return Finding(
        anomaly="A1",
        count=len(lost),
        records=lost,
        evidence=_evidence_of_lost(view, lost),
        undecided=int(unread.sum()) - len(lost),
        why_undecided=f"{NO_READ_BACK}, and no reader reached it",
        missing=_no_outcome(view) if len(log) else NO_READ_BACK,
    )


@dataclass(frozen=True)
class _InferredOrder:
    """The places of an inferred log, numbered from 1 in their order."""

    places: Int64s
    """The place with each number; NONE at 0."""
    first: Int64s
    """The number of the first place of each record; NONE if it has none."""
    last: Int64s

    @classmethod
    def of(cls, log: Log, record_count: int) -> _InferredOrder:
        is_new = np.diff(log.place, prepend=np.int64(NONE)) != 0
        number = np.cumsum(is_new)
        first = np.full(record_count + 1, NONE, np.int64)
        last = first.copy()
        first[log.record[::-1]] = number[::-1]
        last[log.record] = number
        first[NONE] = last[NONE] = NONE  # Rows without a record wrote into the extra element.
        starts = np.diff(number, prepend=0) != 0
        places = np.append(np.int64(NONE), log.place[starts])
        return cls(places, first, last)

    @property
    def partition_count(self) -> int:
        highest = int(partition_of(self.places).max())
        return max(1, 1 + highest)

    def partitions_at(self, numbers: Int64s) -> Int64s:
        """The partition of the place with each number."""
        return partition_of(self.places[numbers])


def _evidence_of_lost(view: View, lost: Int64s) -> tuple[Evidence, ...]:
    return _evidence_of_sends(
        view, lost, "{record} was acknowledged at {place} and is not in the log"
    )


def _evidence_of_sends(view: View, records: Int64s, text: str) -> tuple[Evidence, ...]:
    places = view.sends.place
    return tuple(
        Evidence(text=text, record=int(record), place=int(places[record]))
        for record in records[:SHOWN]
    )


def aborted_reads(view: View) -> Finding:
    """A3: certainly not written, or aborted, and visible to readers of committed records."""
    aborted = _aborted(view)
    failed = view.sends.outcome == Outcome.NOT_WRITTEN
    wrong = (aborted | failed) & view.visible[: len(view.sends)]
    if failed.any():
        wrong |= failed & view.visible_to_any[: len(view.sends)]
    offenders = np.flatnonzero(wrong)
    unsure = aborted & ~wrong & view.seen_by_unknown[: len(view.sends)]
    missing = ""
    if view.committed is None and not any(map(len, view.committed_reads)):
        missing = NO_READ_BACK if bool((aborted | failed).any()) else ""
    text = "{record} was aborted or refused, and is visible"
    return Finding(
        anomaly="A3",
        count=len(offenders),
        records=offenders,
        evidence=_evidence_of_sends(view, offenders, text),
        undecided=int(unsure.sum()),
        why_undecided="their readers may read uncommitted records",
        missing=missing,
    )


def _aborted(view: View) -> Bools:
    """Whether each send was aborted, by itself or with its transaction."""
    aborted: Bools = view.sends.outcome == Outcome.ABORTED
    inside = view.sends.transaction >= 0
    if inside.any():
        ended = view.topic.transactions.outcome[view.sends.transaction[inside]]
        aborted[inside] |= ended == Outcome.ABORTED
    return aborted


def duplicates(view: View) -> Finding:
    """A5: one record that producers sent to this topic is at several of its places.

    Records that a job wrote are left out: one input may have several outputs.
    """
    log = view.inferred if view.committed is None else view.committed
    counts = view.topic.counts(log.record)
    offenders = np.flatnonzero(counts > 1)
    if len(offenders) and int(offenders[-1]) >= len(view.sends):
        offenders = offenders[~_written_by_a_job(view)[offenders]]
    return Finding(
        anomaly="A5",
        count=len(offenders),
        records=offenders,
        evidence=tuple(_two_places(log, int(record)) for record in offenders[:SHOWN]),
        missing="" if log.read_back or len(log) else NO_READ_BACK,
    )


def _written_by_a_job(view: View) -> Bools:
    """Whether each record is of no producer of this topic, or was sent to another topic."""
    others = ~np.isin(view.topic.strangers.producer, view.sends.producer)
    others |= _sent_to_other_topics(view)
    return np.append(np.zeros(len(view.sends), bool), others)


def _two_places(log: Log, record: int) -> Evidence:
    one, two, *_ = log.place[log.record == record]
    text = "{record} is at {place} and at {other_place}"
    return Evidence(text=text, record=record, place=int(one), other_place=int(two))


def phantoms(view: View) -> Finding:
    """A21: a record was read that was never sent.

    A producer records a send when its outcome is known. A killed producer may have sent any
    record of that life without recording it, up to the first record of its next life.
    """
    strangers = view.topic.strangers
    if not len(strangers):
        return Finding(anomaly="A21")
    elsewhere = _sent_to_other_topics(view)
    verdicts = [
        _is_phantom(view, int(producer), int(sequence))
        for producer, sequence, known in zip(
            strangers.producer, strangers.sequence, elsewhere, strict=True
        )
        if not known
    ]
    unknown_rows = np.flatnonzero(~elsewhere)
    wrong = unknown_rows[[verdict is True for verdict in verdicts]] + len(view.sends)
    text = "{record} was read but never sent"
    return Finding(
        anomaly="A21",
        count=len(wrong),
        records=wrong,
        evidence=tuple(Evidence(text=text, record=int(record)) for record in wrong[:SHOWN]),
        undecided=sum(verdict is None for verdict in verdicts),
        why_undecided="their producers recorded no lives",
    )


def _sent_to_other_topics(view: View) -> Bools:
    """Whether each stranger was sent to another topic: a job copied its identity."""
    clients, strangers = view.topic.clients, view.topic.strangers
    producers, sequences = [], []
    for batch in view.topic.ledger.batches("sent", ["producer", "sequence"]):
        producers.append(clients.encode(batch.column(0)))
        sequences.append(batch.column(1).to_numpy(zero_copy_only=False))
    if not producers:
        return np.zeros(len(strangers), bool)
    keys, least = sort_keys(np.concatenate(producers), np.concatenate(sequences))
    rows = Identities(np.unique(keys), least).rows(strangers.producer, strangers.sequence)
    known: Bools = rows != NONE
    return known


def _is_phantom(view: View, producer: int, sequence: int) -> bool | None:
    """Whether no life of the producer can have sent it; None if its lives are unknown."""
    lives = {
        life: first
        for (client, life), first in view.topic.first_of_life.items()
        if client == producer
    }
    if not lives:
        noted = bool((view.sends.producer == producer).any())
        return None if noted else True
    begun = [life for life, first in lives.items() if first <= sequence]
    if not begun:
        return True
    life = max(begun)
    last_life = life == max(lives)
    killed = not last_life or view.topic.clients.words[producer] in view.facts.unfinished_producers
    return not killed
