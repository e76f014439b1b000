"""What several anomalies need of a topic: which sends are written, which log a group reads."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from streambed.judge.arrays import OFFSET_BITS, OFFSET_MASK, Log, Reads, Topic
from streambed.judge.columns import NONE, Bools, Int32s, Int64s
from streambed.judge.findings import Facts
from streambed.judge.reading.other_topics import NO_OTHER_PARTS, OtherParts, other_parts
from streambed.record.ledger.schemas import Outcome

NO_READS = Reads(
    record=np.empty(0, np.int32),
    place=np.empty(0, np.int64),
    time=np.empty(0, np.int64),
    tenure=np.empty(0, np.int32),
    transaction=np.empty(0, np.int32),
    client=np.empty(0, np.int32),
)


class View:
    """A topic and the facts about it."""

    def __init__(self, topic: Topic, facts: Facts) -> None:
        self.topic = topic
        self.facts = facts
        self.sends = topic.sends
        self.reads = topic.reads | {
            name: NO_READS for name in sorted(facts.groups - set(topic.reads))
        }
        """By group, with declared groups that read nothing."""
        self._indexes: dict[str, Int32s] = {}
        whole = not facts.read_back_failed
        self.committed = topic.committed if whole else None
        self.uncommitted = topic.uncommitted if whole else None
        if self.uncommitted is None and not len(topic.transactions):
            # Without transactions there are no aborted records: both read-backs are the same.
            self.uncommitted = self.committed

    @cached_property
    def inferred(self) -> Log:
        """The log as far as acknowledgements and reads tell, for topics that were not read back.

        Kafka shows a reader no unsafe data: a poll counts regardless of its transaction's outcome.
        """
        acked = (self.sends.place >= 0) & self.written
        place_parts = [self.sends.place[acked]]
        record_parts = [np.flatnonzero(acked).astype(np.int32)]
        for reads in self.reads.values():
            known = reads.place >= 0
            place_parts.append(reads.place[known])
            record_parts.append(reads.record[known])
        place, record = np.concatenate(place_parts), np.concatenate(record_parts)
        order = np.lexsort((record, place))
        place, record = place[order], record[order]
        once = np.ones(len(place), bool)
        once[1:] = (place[1:] != place[:-1]) | (record[1:] != record[:-1])
        return Log(place=place[once], record=record[once], read_back=False)

    def log_of(self, group: str) -> Log | None:
        """The read-back of the isolation level of a group; None if there is none."""
        return self.uncommitted if group in self.facts.uncommitted_groups else self.committed

    def indexes(self, group: str) -> Int32s:
        """The index of each row of a group in its log; NONE if the log has nothing there."""
        if group not in self._indexes:
            log = self.log_or_inferred(group).distinct
            index = log.index_of(self.reads[group].place)
            self._indexes[group] = index.astype(np.int32)
        return self._indexes[group]

    def log_or_inferred(self, group: str) -> Log:
        """The read-back for a group; without one, what acknowledgements and reads tell."""
        log = self.log_of(group)
        return self.inferred if log is None else log

    @property
    def committed_reads(self) -> list[Reads]:
        """What groups read that are known to see committed records only."""
        others = self.facts.uncommitted_groups | self.facts.unknown_isolation_groups
        return [reads for group, reads in self.reads.items() if group not in others]

    @cached_property
    def reads_in_transactions(self) -> bool:
        """Whether any client read the topic inside a transaction."""
        return any(bool((reads.transaction >= 0).any()) for reads in self.reads.values())

    @cached_property
    def visible(self) -> Bools:
        """Whether a record was found by the read-back or by a reader of committed records."""
        visible = np.zeros(self.topic.record_count, bool)
        parts = [reads.record for reads in self.committed_reads]
        if self.committed is not None:
            parts.append(self.committed.record)
        for records in parts:
            visible[with_identity(records)] = True
        return visible

    @cached_property
    def seen_by_unknown(self) -> Bools:
        """Whether a group of unknown isolation level read a record."""
        seen = np.zeros(self.topic.record_count, bool)
        for group in self.facts.unknown_isolation_groups & set(self.reads):
            seen[with_identity(self.reads[group].record)] = True
        return seen

    @cached_property
    def visible_to_any(self) -> Bools:
        """The same, with readers of uncommitted records and their read-back."""
        visible = self.visible.copy()
        parts = [reads.record for reads in self.reads.values()]
        if self.uncommitted is not None:
            parts.append(self.uncommitted.record)
        for records in parts:
            visible[with_identity(records)] = True
        return visible

    @cached_property
    def elsewhere(self) -> OtherParts:
        """What other topics hold of the transactions of this one."""
        if not len(self.topic.transactions) or self.facts.read_back_failed:
            return NO_OTHER_PARTS
        return other_parts(self.topic, self.facts.compacted_topics)

    @cached_property
    def proven(self) -> Bools:
        """Whether an unknown send is known to be written: it was read, or another record of
        its transaction.
        """
        unknown: Bools = self.sends.outcome == Outcome.UNKNOWN
        if not unknown.any():
            return np.zeros(len(self.sends), bool)
        alone: Bools = self.sends.transaction == NONE
        proven: Bools = unknown & alone & self.visible_to_any[: len(self.sends)]
        proven_transactions = np.zeros(len(self.topic.transactions), bool)
        witnesses = unknown & ~alone & self.visible[: len(self.sends)]
        proven_transactions[self.sends.transaction[witnesses]] = True
        proven_transactions[np.flatnonzero(self.elsewhere.visible)] = True
        inside = unknown & ~alone
        proven[inside] = proven_transactions[self.sends.transaction[inside]]
        return proven

    @cached_property
    def written(self) -> Bools:
        """Whether a send is certainly written: acknowledged, or proven."""
        acknowledged: Bools = self.sends.outcome == Outcome.WRITTEN
        return acknowledged | self.proven

    @cached_property
    def in_log(self) -> Int64s:
        """How often the read-back has each record that was sent."""
        return self.topic.in_log[: len(self.sends)]

    @cached_property
    def written_place(self) -> Int64s:
        """Where each written record is: as acknowledged to its producer, else as the log has it."""
        place = np.where(self.written, self.sends.place, NONE)
        unplaced = self.written & (place == NONE)
        if unplaced.any():
            place[unplaced] = self.first_places[: len(place)][unplaced]
        return place

    @cached_property
    def first_places(self) -> Int64s:
        """The first place at which the log has each record; NONE if it has not."""
        log = self.inferred if self.committed is None else self.committed
        first = np.full(self.topic.record_count, NONE, np.int64)
        rows = log.record >= 0
        first[log.record[rows][::-1]] = log.place[rows][::-1]
        return first

    def below_start(self, place: Int64s) -> Bools:
        """Whether a place was deleted by retention: it lies before the log's start at the end."""
        return place < self._starts[partition_of(place)]

    def start_unknown(self, place: Int64s) -> Bools:
        """Whether the start of the log of a place's partition is unknown."""
        unknown = self._starts < 0
        # A record whose partition is unknown may be deleted only if any log begins after 0.
        unknown[NONE] = bool(np.any(self._starts[:-1] & OFFSET_MASK))
        chosen: Bools = unknown[partition_of(place)]
        return chosen

    @cached_property
    def _starts(self) -> Int64s:
        """The place at which each partition's log began; NONE if it is unknown. The last entry is
        for records whose partition is unknown.
        """
        places = [self.sends.place, *(reads.place for reads in self.reads.values())]
        count = 1 + max(
            (int(place.max()) >> OFFSET_BITS for place in places if len(place)), default=0
        )
        count = max(count, 1 + max(self.facts.ends, default=0))
        starts = np.full(count + 1, NONE, np.int64)
        for partition, end in self.facts.ends.items():
            if end.start is not None:
                starts[partition] = partition << OFFSET_BITS | end.start
        return starts


def with_identity(records: Int32s) -> Int32s:
    """The records that carry an identity."""
    return records[records >= 0] if len(records) and int(records.min()) < 0 else records


def partition_of(places: Int64s) -> Int64s:
    """The partition of each place; NONE stays NONE."""
    return places >> OFFSET_BITS


def stable_order(keys: Int64s | Int32s) -> Int64s:
    """The rows in order of their keys; equal keys stay in order."""
    if len(keys) and int(keys.min()) >= 0 and int(keys.max()) < 1 << 16:
        return np.argsort(keys.astype(np.uint16), kind="stable")  # A radix sort.
    return np.argsort(keys, kind="stable")
