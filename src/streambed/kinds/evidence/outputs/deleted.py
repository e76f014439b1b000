"""Records that were written and deleted before the read-back: by retention, or on request."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from streambed.judge import reading
from streambed.judge.arrays import OFFSET_BITS, Topic
from streambed.judge.columns import batches_of_topic, numbers
from streambed.kinds.evidence.log_facts import ends_of
from streambed.record.history import History
from streambed.record.ledger.schemas import Outcome

Numbers = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Deleted:
    """Records in the producers' ledger that lie below the start of the log after the drain."""

    places: Numbers
    """Partition and offset in one number, rising."""
    producers: tuple[str, ...]
    """The producer of each."""
    sequences: Numbers
    keys: Numbers
    """Hash of the key; 0 without a key."""

    def __len__(self) -> int:
        return len(self.places)


def deleted_records(history: History, topic: str) -> Deleted | None:
    """What was deleted of a topic; None if nothing was, as far as producers recorded it."""
    starts = _starts(history, topic)
    if not starts:
        return None
    arrays = reading.topic_of(history.ledger, topic)
    sends = arrays.sends
    below = np.zeros(len(sends), bool)
    for partition, start in starts.items():
        first = partition << OFFSET_BITS
        below |= (sends.place >= first) & (sends.place < first + start)
    rows = np.flatnonzero(below & (sends.outcome == Outcome.WRITTEN))
    if not len(rows):
        return None
    rows = rows[np.argsort(sends.place[rows], kind="stable")]
    return Deleted(
        places=sends.place[rows],
        producers=tuple(arrays.clients.words[number] for number in sends.producer[rows]),
        sequences=sends.sequence[rows],
        keys=_keys(arrays)[rows],
    )


def was_deleted(history: History, topic: str) -> bool:
    """Whether the log of a topic no longer begins with its first record."""
    return bool(_starts(history, topic))


def deleted_without_ledger(history: History, topic: str) -> bool:
    """Whether deleted records may be in no ledger: a writer of the topic keeps none."""
    if not _starts(history, topic):
        return False
    components = history.components.values()
    writers = [one for one in components if topic in one.topics_written]
    jobs = [one for one in components if one.as_engine and topic in one.as_engine.writes]
    return bool(jobs) or not writers or not all(one.keeps_ledger for one in writers)


def _starts(history: History, topic: str) -> dict[int, int]:
    """Where each partition began after the drain, if it was not at its first offset."""
    ends = ends_of(history, topic).values()
    return {end.partition: end.start for end in ends if end.start}


def _keys(topic: Topic) -> Numbers:
    parts = [np.empty(0, np.int64)]
    for batch in batches_of_topic(topic.ledger, "sent", topic.name, ("key",)):
        parts.append(numbers(batch.column(0), np.int64, null=0))
    keys = np.concatenate(parts)
    return keys if topic.sends.rows is None else keys[topic.sends.rows]
