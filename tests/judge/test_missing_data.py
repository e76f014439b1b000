"""Data that is missing never makes the judge say that nothing is wrong, nor invents an anomaly."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from streambed.judge.findings import Facts, PartitionEnd
from streambed.kinds.checks.log import Log
from streambed.plan import WITNESS
from streambed.record.events import ClusterState, Drained, DrainIncomplete, PartitionState, Wait
from tests.support.judge.judged_stories import counts, judge
from tests.support.judge.runs import row, run_of, small_story
from tests.support.judge.stories import ABORTED, STARTS, TOPIC, UNKNOWN, Story

SECOND: dict[str, Any] = {"kind": "consumer", "node": "b", "reads": [TOPIC]}


def test_a_declared_group_that_saw_nothing_missed_everything():
    verdict = Log(topic=TOPIC).judge(run_of(small_story(3), second=SECOND))

    assert verdict.fails
    assert row(verdict, "A2")["count"] == 3


def test_a_declared_group_that_saw_nothing_is_undecided_if_it_was_behind():
    behind = Wait(reason="behind", reader="second", topics=(TOPIC,))
    history = run_of(small_story(3), second=SECOND)
    events = [event for event in history.events if not isinstance(event, Drained)]
    end = DrainIncomplete(time=1002, waits=(behind,))

    verdict = Log(topic=TOPIC).judge(replace(history, events=(*events, end)))

    assert (verdict.answer, row(verdict, "A2")["undecided"]) == ("unknown", 3)


def test_a_record_that_was_deleted_before_a_group_read_it_is_unseen():
    there = [("a=2", 2), ("a=3", 3)]
    story = Story().life("a", 1, 0).assign()
    for number in range(4):
        story.send(f"a={number}", number)
    story.poll(*there).log(*there)
    starts = Facts(ends={0: PartitionEnd(partition=0, start=2)})

    assert counts(story, starts) == {"A2": 2}


def test_a_record_that_was_deleted_before_a_group_began_is_not_wanted():
    there = [("a=2", 2), ("a=3", 3)]
    story = Story().life("a", 1, 0)
    for number in range(4):
        story.send(f"a={number}", number)
    story.assign(2).poll(*there).log(*there)
    starts = Facts(ends={0: PartitionEnd(partition=0, start=2)})

    assert counts(story, starts) == {}


def aborted_and_seen() -> Story:
    """A reader saw an aborted record, which only the read-back of uncommitted records has."""
    story = Story().life("a", 1, 0).send("a=0", 0)
    story.send("a=1", 1, outcome=ABORTED, txn=1).transaction(1, ABORTED).assign()
    story.poll(("a=0", 0), ("a=1", 1))
    return story.log(("a=0", 0)).log(("a=0", 0), ("a=1", 1), uncommitted=True)


def test_a_group_of_unknown_isolation_that_sees_an_aborted_record_is_undecided():
    facts = Facts(ends=STARTS, unknown_isolation_groups=frozenset({"reader"}))
    findings = judge(aborted_and_seen(), facts)

    assert counts(aborted_and_seen(), facts) == {}
    assert findings["A3"].undecided == 1
    assert not findings["A18"].undecided


def test_a_group_of_uncommitted_records_may_see_an_aborted_one():
    facts = Facts(ends=STARTS, uncommitted_groups=frozenset({"reader"}))

    assert counts(aborted_and_seen(), facts) == {}
    assert not judge(aborted_and_seen(), facts)["A3"].undecided


def test_a_group_of_committed_records_must_not_see_an_aborted_one():
    assert set(counts(aborted_and_seen())) == {"A3", "A18"}


def test_what_a_group_of_unknown_isolation_read_and_no_read_back_has_vanished():
    story = aborted_and_seen()
    gone = [row for row in story.rows["seen"] if row["consumer"] == "reader"][-1]
    gone["offset"] = 7
    facts = Facts(ends=STARTS, unknown_isolation_groups=frozenset({"reader"}))

    assert judge(story, facts)["A18"].count == 1


def test_a_command_that_says_nothing_of_its_isolation_has_an_unknown_one():
    program = {"kind": "command", "node": "b", "argv": ["read"], "reads": [TOPIC]}
    verdict = Log(topic=TOPIC).judge(run_of(aborted_and_seen(), reader=program))

    assert row(verdict, "A3")["answer"] == "unknown"


def test_a_log_that_was_read_back_empty_has_lost_everything():
    story = Story().life("a", 1, 0).send("a=0", 0).send("a=1", 1)
    story.assign(by=WITNESS, origin="all")

    assert counts(story)["A1"] == 2


def test_sends_of_unknown_outcome_that_nobody_read_are_judged_without_an_error():
    story = Story().life("a", 1, 0).send("a=0", outcome=UNKNOWN)

    assert judge(story)["A1"].missing


def test_no_loss_is_said_if_no_send_has_a_known_outcome():
    story = Story().life("a", 1, 0).send("a=0", outcome=UNKNOWN).assign(by=WITNESS, origin="all")

    assert judge(story)["A1"].missing == "no send has a known outcome"


def test_an_aborted_record_is_looked_for_by_somebody():
    story = Story().send("a=0", 0, outcome=ABORTED, txn=1).transaction(1, ABORTED)

    assert judge(story)["A3"].missing == "the topic was not read back"


def handed_over() -> Story:
    story = small_story(4)
    return story.assign(4, life=2, origin="committed")


def test_a_tenure_that_began_with_a_commit_that_nobody_noted_leaves_hand_overs_unknown():
    assert judge(handed_over())["A17"].missing == "reader recorded no commits"


def test_a_start_after_the_last_known_commit_is_excused_up_to_the_last_row():
    story = Story().send("a=0", 0).send("a=1", 1).assign().poll(("a=0", 0), ("a=1", 1)).commit(1)
    story.assign(2, life=2, origin="committed").log(("a=0", 0), ("a=1", 1))

    finding = judge(story)["A17"]

    assert (finding.count, finding.allowed) == (0, 1)


def test_the_state_before_the_load_is_not_the_state_at_the_end():
    history = run_of(small_story(4, lost=(0,)))
    early = [
        replace(event, time=-1) if isinstance(event, ClusterState) else event
        for event in history.events
    ]
    events = tuple(sorted(early, key=lambda event: event.time))

    verdict = Log(topic=TOPIC).judge(replace(history, events=events))

    assert row(verdict, "A1")["answer"] == "unknown"
    assert row(verdict, "A23")["answer"] == "unknown"


@pytest.mark.parametrize("number", ["A22", "A23"])
def test_files_of_own_brokers_that_were_not_read_leave_it_unknown(number):
    history = replace(stuck_run(), broker_files=None)

    verdict = Log(topic=TOPIC).judge(history)

    assert row(verdict, number)["answer"] == "unknown"


def test_files_of_an_existing_cluster_are_not_asked_for():
    kafka = {"kind": "kafka", "nodes": ["a", "b"], "existing": "host:9092", "topics": {TOPIC: {}}}
    history = replace(run_of(small_story(3), kafka=kafka), broker_files=None)

    verdict = Log(topic=TOPIC).judge(history)

    assert row(verdict, "A22")["answer"] == "not judged"
    assert verdict.holds


def stuck_run() -> Any:
    """Readers of committed records get no further than offset 3 of 4."""
    state = PartitionState(
        topic=TOPIC,
        partition=0,
        leader="a",
        replicas=("a",),
        in_sync=("a",),
        start=0,
        end=4,
        stable=3,
    )
    end = ClusterState(time=1003, component="kafka", partitions=(state,))
    history = run_of(small_story(4))
    return replace(history, events=(*history.events, end))


def test_readers_that_cannot_reach_the_end_are_stuck():
    verdict = Log(topic=TOPIC).judge(stuck_run())

    assert verdict.fails
    assert row(verdict, "A23")["count"] == 1


def test_a_group_that_holds_a_partition_and_never_read_a_record_is_stuck():
    behind = Wait(reason="behind", reader="reader", topics=(TOPIC,), partition=0)
    story = Story().life("a", 1, 0).send("a=0", 0).assign().log(("a=0", 0))
    history = run_of(story)
    events = [event for event in history.events if not isinstance(event, Drained)]
    end = DrainIncomplete(time=20_000_000_000, waits=(behind,))

    verdict = Log(topic=TOPIC).judge(replace(history, events=(*events, end)))

    assert row(verdict, "A23")["count"] == 1


def two_topics(*, other_is_there: bool) -> Story:
    """One transaction over two topics, of which the other one may be lost."""
    story = Story().life("a", 1, 0).send("a=0", 0, txn=1).send("a=1", 0, txn=1).transaction(1)
    story.rows["sent"][1]["topic"] = "other"
    story.assign().poll(("a=0", 0)).log(("a=0", 0))
    story.assign(by=WITNESS, origin="all")
    story.rows["assignments"][-1]["topic"] = "other"
    if other_is_there:
        story.log(("a=1", 0))
        story.rows["seen"][-1]["topic"] = "other"
    return story


def test_a_transaction_is_torn_if_another_topic_lacks_its_part():
    assert counts(two_topics(other_is_there=True)) == {}
    assert counts(two_topics(other_is_there=False)) == {"A19": 1}


def test_no_cycle_and_no_own_read_is_judged_if_no_client_reads_in_transactions():
    story = Story().send("a=0", 0, txn=1).transaction(1).assign().poll(("a=0", 0)).log(("a=0", 0))
    findings = judge(story)

    assert findings["A13"].not_judged == "no client read inside a transaction"
    assert findings["A15"].not_judged == "no client read inside a transaction"


def test_a_record_in_the_log_that_its_killed_producer_did_not_note_must_be_seen_too():
    there = [("a=0", 0), ("a=1", 1), ("a=9", 2)]
    story = Story().life("a", 1, 0).life("a", 2, 9).send("a=0", 0).send("a=9", 2, life=2)
    story.assign().poll(there[0], there[2]).log(*there)

    finding = judge(story)["A2"]

    assert (finding.count, finding.evidence[0].place) == (1, 1)


def test_a_record_that_its_killed_producer_did_not_note_must_not_stand_twice():
    story = Story().life("a", 1, 0).life("a", 2, 9).send("a=0", 0)
    story.log(("a=0", 0), ("a=1", 1), ("a=1", 2))

    assert counts(story) == {"A5": 1}
