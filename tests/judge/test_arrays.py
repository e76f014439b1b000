"""A topic as arrays: numbers for names, one row per record, the log sorted by place."""

from __future__ import annotations

import numpy as np
import pytest

from streambed.errors import FormatError
from streambed.judge.arrays import place_of
from streambed.judge.columns import NONE
from streambed.judge.reading import topic_of
from streambed.judge.reading.identities import Identities, sort_keys
from tests.support.judge.stories import ABORTED, TOPIC, UNKNOWN, WRITTEN, Story


def test_records_are_numbered_by_producer_and_sequence():
    story = Story().send("b=0", 0).send("a=1", 2).send("a=0", 1)
    story.log(("b=0", 0), ("a=0", 1), ("a=1", 2))

    topic = topic_of(story.ledger(), TOPIC)

    assert [topic.name_of(record) for record in range(topic.record_count)] == ["b=0", "a=0", "a=1"]
    assert topic.committed is not None
    assert topic.committed.record.tolist() == [0, 1, 2]
    assert topic.sends.place.tolist() == [0, 1, 2]


def test_a_record_that_was_read_and_never_sent_is_numbered_after_the_others():
    story = Story().send("a=0", 0).poll(("a=0", 0), ("a=7", 1), ("x=3", 2), ("a=7", 3))

    topic = topic_of(story.ledger(), TOPIC)

    reads = topic.reads["reader"]
    assert [topic.name_of(record) for record in reads.record] == ["a=0", "a=7", "x=3", "a=7"]
    assert topic.record_count == 3


def test_a_record_without_identity_has_no_number():
    topic = topic_of(Story().poll(("", 4)).ledger(), TOPIC)

    assert topic.reads["reader"].record.tolist() == [NONE]
    assert topic.reads["reader"].place.tolist() == [4]


def test_a_place_joins_partition_and_offset():
    topic = topic_of(Story().log(("a=0", "1/5"), ("a=1", "0/9")).ledger(), TOPIC)

    assert topic.committed is not None
    assert topic.committed.place.tolist() == [9, place_of(1, 5)]
    assert topic.committed.index_of(np.array([place_of(1, 5), 8])).tolist() == [1, NONE]


def test_reads_of_each_group_and_each_read_back_are_apart():
    story = Story().poll(("a=0", 0), by="one", group="g").poll(("a=0", 0), by="two")
    story.log(("a=0", 0)).log(("a=0", 0), ("a=1", 1), uncommitted=True)

    topic = topic_of(story.ledger(), TOPIC)

    assert sorted(topic.reads) == ["g", "two"]
    assert topic.committed is not None and len(topic.committed) == 1
    assert topic.uncommitted is not None and len(topic.uncommitted) == 2


def test_a_transaction_without_a_row_has_an_unknown_outcome():
    story = Story().send("a=0", 0, txn=1).send("a=1", 1, txn=2, outcome=UNKNOWN)
    story.send("b=0", 2, txn=1, outcome=ABORTED)
    story.transaction(1).transaction(1, ABORTED, of="b")

    topic = topic_of(story.ledger(), TOPIC)

    assert topic.sends.transaction.tolist() == [0, 1, 2]
    assert topic.transactions.outcome.tolist() == [WRITTEN, UNKNOWN, ABORTED]


def test_a_tenure_is_of_one_life_and_one_partition():
    story = Story().assign("0/0").assign("1/0").assign("0/3", life=2)
    story.poll(("a=0", "1/0")).poll(("a=1", "0/3"), life=2).poll(("a=1", "0/3"), tenure=9)

    topic = topic_of(story.ledger(), TOPIC)

    assert topic.reads["reader"].tenure.tolist() == [1, 2, NONE]
    assert topic.tenures.start.tolist() == [0, 0, 3]


def test_a_restarted_producer_may_leave_a_wide_gap():
    producers = np.array([0, 0, 0, 1], np.int32)
    sequences = np.array([5, 6, 10**12, 4])
    keys, least = sort_keys(producers, sequences)

    rows = Identities(keys, least).rows(
        np.array([1, 0, 0, 0, 0, 2], np.int32), np.array([4, 10**12, 6, 7, 4, 4])
    )

    assert rows.tolist() == [3, 2, 1, NONE, NONE, NONE]


def test_sequences_too_far_apart_are_refused():
    story = Story().send("a=0", 0).send(f"a={2**50}", 1)

    with pytest.raises(FormatError, match="number the records of a run from 0 on"):
        topic_of(story.ledger(), TOPIC)


def test_in_runs_of_older_versions_an_ack_with_an_offset_means_written():
    story = Story().send("a=0", 0).send("a=1", None).send("a=2", 2, outcome=UNKNOWN)
    for row in story.rows["sent"]:
        row["outcome"] = None

    topic = topic_of(story.ledger(), TOPIC)

    assert topic.sends.outcome.tolist() == [WRITTEN, UNKNOWN, UNKNOWN]
