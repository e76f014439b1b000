"""The situations that Jepsen tests its Kafka checker with, as ledgers of ours. The answers agree,
but where a test says why not.

Jepsen has no read-back: these histories have none either, unless the case is ours.
"""

from __future__ import annotations

from tests.support.judge.judged_stories import counts, judge, names
from tests.support.judge.stories import ABORTED, NOT_WRITTEN, UNKNOWN, Story


def only(story: Story, *anomalies: str) -> dict[str, int]:
    """The counts of these anomalies, those that were not found left out."""
    return {name: count for name, count in counts(story).items() if name in anomalies}


def test_an_unknown_send_does_not_conflict_with_an_acknowledged_one():
    story = Story().send("a=0", 0, outcome=UNKNOWN, txn=1).send("a=1", None, outcome=UNKNOWN, txn=1)
    story.send("b=0", 0)

    assert only(story, "A4") == {}


def test_an_unknown_send_conflicts_once_another_record_of_its_transaction_was_read():
    story = Story().send("a=0", 0, outcome=UNKNOWN, txn=1).send("a=1", None, outcome=UNKNOWN, txn=1)
    story.send("b=0", 0).assign("1/0").poll(("a=1", "1/5"))

    assert only(story, "A4") == {"A4": 1}


def test_two_acknowledgements_of_one_offset_are_inconsistent():
    assert counts(Story().send("a=0", 537).send("b=0", 537)) == {"A4": 1}


def test_a_poll_of_another_record_than_was_acknowledged_is_inconsistent():
    story = (
        Story().send("a=0", 0).send("a=1", 1).send("b=0", 1).assign().poll(("a=0", 0), ("a=1", 1))
    )

    assert only(story, "A4") == {"A4": 1}


def test_a_failed_send_that_is_read_is_an_aborted_read():
    story = Story().send("a=0", None, outcome=NOT_WRITTEN).send("a=1", "1/0", outcome=NOT_WRITTEN)
    story.assign().poll(("a=0", 0))

    assert counts(story) == {"A3": 1}
    assert names(story, judge(story)["A3"]) == ["a=0"]


def test_an_aborted_transaction_that_is_read_is_an_aborted_read():
    story = Story().send("a=0", 0, outcome=ABORTED, txn=1).transaction(1, ABORTED)
    story.assign().poll(("a=0", 0))

    assert only(story, "A3") == {"A3": 1}


def test_writes_below_the_highest_read_that_nobody_read_are_lost():
    story = Story().send("a=0", 0).send("a=1", 1).send("a=2", 3)
    story.send("b=0", None, outcome=UNKNOWN).assign().poll(("b=0", 2))

    assert names(story, judge(story)["A1"]) == ["a=0", "a=1"]


def test_a_write_that_another_one_replaced_at_its_offset_is_lost():
    story = Story().send("a=0", 0).send("a=1", 0).send("a=2", 2)
    story.assign().poll(("a=1", 0), ("a=2", 2))

    assert names(story, judge(story)["A1"]) == ["a=0"]
    assert only(story, "A4") == {"A4": 1}


def crashed_transaction() -> Story:
    story = Story().send("a=0", None, outcome=UNKNOWN, txn=1)
    story.send("a=1", "1/0", outcome=UNKNOWN, txn=1).send("b=0", None, outcome=UNKNOWN)
    return story.assign("0/0").assign("1/0").poll(("b=0", "1/1"))


def test_a_crashed_transaction_of_which_nothing_was_read_lost_nothing():
    assert only(crashed_transaction(), "A1") == {}


def test_a_crashed_transaction_of_which_one_record_was_read_lost_the_other_one():
    story = crashed_transaction().poll(("a=0", "0/0"))

    assert names(story, judge(story)["A1"]) == ["a=1"]


def skipping_polls() -> Story:
    """The first reader gets offsets 1, 2, then 4, then 7; 3 and 6 are known, 5 may be a hole."""
    story = Story()
    for number in range(5):
        story.send(f"a={number}", None, outcome=UNKNOWN)
    story.send("b=0", 6).assign(1, origin="latest").assign(3, by="other", origin="latest")
    story.poll(("a=0", 1), ("a=1", 2)).poll(("a=2", 3), by="other")
    return story


def test_a_poll_that_continues_after_a_record_that_exists_skips_it():
    story = skipping_polls().poll(("a=3", 4)).poll(("a=4", 7))

    found = judge(story)["A8"]
    assert (found.count, names(story, found)) == (2, ["a=3", "a=4"])
    assert [(one.other_place, one.place) for one in found.evidence] == [(2, 4), (4, 7)]


def test_a_skip_between_two_tenures_is_judged_by_the_hand_over():
    """Jepsen must allow it; the start of each tenure tells that records were left out."""
    story = skipping_polls()
    story.assign(4, tenure=2, origin="committed").poll(("a=3", 4), tenure=2)
    story.assign(7, tenure=3, origin="committed").poll(("a=4", 7), tenure=3)

    assert only(story, "A8", "A17") == {"A17": 2}


def numbers(count: int) -> Story:
    story = Story()
    for number in range(count):
        story.send(f"a={number}", number)
    return story.assign()


def test_after_an_abort_a_reader_reads_the_same_records_again():
    story = numbers(3).poll(("a=0", 0), txn=1)
    for number in (2, 3, 4):
        story.poll(("a=1", 1), ("a=2", 2), txn=number)
    story.transaction(1, of="reader").transaction(2, ABORTED, of="reader")
    story.transaction(3, UNKNOWN, of="reader").transaction(4, of="reader")

    assert only(story, "A6", "A7", "A8", "A9") == {}


def test_an_abort_after_which_the_reader_continues_skips_records():
    story = numbers(6).poll(("a=0", 0), txn=1).poll(("a=1", 1), ("a=2", 2), txn=2)
    story.poll(("a=3", 3), ("a=4", 4), txn=3).poll(("a=5", 5), txn=4)
    story.transaction(1, of="reader").transaction(2, ABORTED, of="reader")
    story.transaction(3, ABORTED, of="reader").transaction(4, of="reader")

    assert only(story, "A8") == {"A8": 2}


def test_a_poll_that_goes_back_is_not_monotonic():
    story = numbers(4).poll(("a=0", 0), ("a=1", 1)).poll(("a=0", 0)).poll(("a=1", 1), ("a=2", 2))

    assert only(story, "A6", "A7", "A8", "A9") == {"A9": 1}


def test_a_poll_that_repeats_its_last_record_is_not_monotonic():
    assert only(numbers(2).poll(("a=0", 0)).poll(("a=0", 0)), "A9") == {"A9": 1}


def test_going_back_after_a_hand_over_is_allowed_if_nothing_was_committed():
    story = numbers(3).poll(("a=0", 0), ("a=1", 1))
    story.assign(0, tenure=2, origin="earliest").poll(("a=0", 0), tenure=2)

    assert only(story, "A9", "A17", "A20") == {}
    assert judge(story)["A20"].allowed == 1


def test_a_skip_inside_a_poll():
    story = numbers(4).poll(("a=0", 0), ("a=2", 2)).poll(("a=3", 3))

    assert only(story, "A6", "A8") == {"A6": 1}


def test_going_back_inside_a_poll():
    story = numbers(3).poll(("a=1", 1), ("a=0", 0), ("a=2", 2))

    assert only(story, "A6", "A7", "A8") == {"A6": 1, "A7": 1, "A8": 1}


def test_one_record_at_two_offsets_is_a_duplicate():
    story = Story().send("a=0", 0).assign().poll(("a=0", 0), ("a=0", 1))

    assert only(story, "A5") == {"A5": 1}


def test_an_acknowledged_record_that_no_group_saw_is_unseen():
    story = numbers(3).poll(("a=0", 0), ("a=1", 1))

    assert names(story, judge(story)["A2"]) == ["a=2"]


def test_sends_of_one_transaction_in_the_wrong_order():
    story = Story().send("a=0", 3, txn=1).send("a=1", 1, txn=1).transaction(1)

    assert only(story, "A11", "A12") == {"A11": 1}


def test_sends_of_one_transaction_with_another_record_between_are_counted():
    story = Story().send("a=0", 1, txn=1).send("b=0", 2).send("a=1", 3, txn=1).transaction(1)

    assert only(story, "A10") == {"A10": 1}


def test_sends_of_one_producer_in_the_wrong_order():
    story = Story().send("a=0", 3).send("a=1", 1)

    assert only(story, "A12") == {"A12": 1}


def test_the_order_of_sends_starts_anew_with_each_life_and_each_partition():
    story = Story().send("a=0", 3).send("a=1", "1/1").send("a=2", 2, life=2)

    assert only(story, "A12") == {}


def test_a_transaction_that_reads_its_own_record():
    story = Story().send("copier=0", 0, txn=1).assign(by="copier")
    story.poll(("copier=0", 0), by="copier", txn=1).transaction(1, of="copier")

    assert only(story, "A13") == {"A13": 1}


def two_writers() -> Story:
    story = Story().send("a=0", "0/0", txn=1).send("b=0", "0/1", txn=1)
    story.send("b=1", "1/0", txn=1).send("a=1", "1/1", txn=1)
    return story.transaction(1, of="a").transaction(1, of="b")


def test_a_cycle_of_writes_is_counted():
    story = two_writers()

    assert only(story, "A14", "A15") == {"A14": 1}
    (evidence,) = judge(story)["A14"].evidence
    assert evidence.text == "a.1/1 → b.1/1 → a.1/1"


def test_transactions_that_read_each_other_are_a_cycle():
    story = Story().send("a=0", "0/0", txn=1).send("b=0", "1/0", txn=1)
    story.assign("1/0", by="a").assign("0/0", by="b")
    story.poll(("b=0", "1/0"), by="a", txn=1).poll(("a=0", "0/0"), by="b", txn=1)
    story.transaction(1, of="a").transaction(1, of="b")

    assert only(story, "A14", "A15") == {"A15": 1}


def test_an_aborted_transaction_is_in_no_cycle_of_reads():
    story = Story().send("a=0", "0/0", txn=1).send("b=0", "1/0", txn=1)
    story.assign("1/0", by="a").assign("0/0", by="b")
    story.poll(("b=0", "1/0"), by="a", txn=1).poll(("a=0", "0/0"), by="b", txn=1)
    story.transaction(1, of="a").transaction(1, ABORTED, of="b")

    assert only(story, "A15") == {}


def test_a_record_that_a_killed_producer_had_no_time_to_note_is_no_phantom():
    """Records are noted as they are decided: record 1 was in flight when 2 was acknowledged."""
    story = Story().life("a", 1, 0).life("a", 2, 9).send("a=0", 0).send("a=2", "1/0")
    story.assign().poll(("a=0", 0), ("a=1", 1))

    assert only(story, "A21") == {}


def test_a_record_before_the_first_of_every_life_is_a_phantom():
    story = Story().life("a", 1, 5).send("a=5", 0).assign().poll(("a=5", 0), ("a=4", 1))

    assert only(story, "A21") == {"A21": 1}
