from streambed import NoLoss
from streambed.kinds.evidence.course import (
    FOREVER_NS,
    Unread,
    downgrade_if_fault_missing,
    faults_of,
    names_between,
    unread,
)
from streambed.record.events import Wait
from tests.support.histories import (
    acked,
    behind,
    event,
    heal,
    history_of,
    inject,
    ns,
    seen,
    undrained,
    unreadable,
)

READER = {"reader": {"kind": "consumer", "node": "home", "reads": ["lines"]}}


def test_a_fault_is_active_from_inject_to_heal():
    faults = faults_of(history_of(inject(10, "partition"), heal(25, "partition")))

    assert names_between(faults, start=ns(9), end=ns(11)) == "partition"
    assert names_between(faults, start=ns(26), end=ns(30)) == ""


def test_a_fault_that_was_never_healed_lasts_until_the_end():
    history = history_of(
        inject(10, "kill"),
        event(20, "heal_failed", fault=0, kind="kill", reason="it would not start"),
    )

    assert [fault.end for fault in faults_of(history)] == [FOREVER_NS]


def test_several_faults_of_a_kind_are_distinguished_by_their_target():
    history = history_of(
        inject(1, "kill", "one"),
        heal(2, "kill", "one"),
        inject(3, "kill", "two", fault=1),
        heal(4, "kill", "two", fault=1),
    )

    assert names_between(faults_of(history), start=0, end=ns(9)) == "kill one, kill two"
    assert [fault.end for fault in faults_of(history)] == [ns(2), ns(4)]


def unread_of(history, reader="reader", members=("reader",), topic="lines"):
    return unread(history, reader=reader, members=members, topic=topic)


ALL, NOTHING = Unread(everything=True), Unread()


def test_a_run_without_a_word_on_its_drain_did_not_drain():
    assert unread_of(history_of(broken=True)) == ALL
    assert unread_of(history_of()) == NOTHING


def test_a_reader_that_had_died_did_not_catch_up_even_if_the_drain_is_done():
    died = event(150, "process_ended", component="reader", status=-9)

    assert unread_of(history_of(event(1, "process_started", component="reader"), died)) == ALL
    assert unread_of(history_of(died, event(160, "process_started", component="reader"))) == NOTHING
    assert unread_of(history_of(died), "readers", ["reader", "another"]) == NOTHING


def test_a_reader_that_is_behind_leaves_open_the_partitions_that_it_is_behind_in():
    history = history_of(
        undrained(behind("readers", "lines", partition=2), behind("readers", "words", partition=0))
    )

    assert unread_of(history, "readers", ["one", "two"]) == Unread(partitions=frozenset({2}))


def test_names_with_the_same_prefix_are_different_readers():
    history = history_of(undrained(behind("reader.two"), behind("reader-2"), behind("reader/host")))

    assert unread_of(history) == NOTHING


def test_a_topic_that_could_not_be_read_leaves_everything_open_for_all_its_readers():
    history = history_of(undrained(unreadable("lines"), unreadable("words", partition=1)))

    assert unread_of(history) == ALL
    assert unread_of(history, topic="words") == Unread(partitions=frozenset({1}))
    assert unread_of(history, topic="counts") == NOTHING


def test_records_in_flight_leave_their_topics_open():
    history = history_of(
        undrained(Wait(reason="in_flight", reader="poet", topics=("lines",), records=3))
    )

    assert unread_of(history) == ALL
    assert unread_of(history, topic="words") == NOTHING


def test_a_wait_of_an_older_version_leaves_everything_open():
    history = history_of(undrained(Wait(reason="unknown", says="another is 5 records behind")))

    assert unread_of(history) == ALL


def test_a_promise_kept_without_the_declared_fault_is_unknown():
    failed = event(
        3,
        "inject_failed",
        fault=0,
        kind="kill",
        target="leader of lines/0",
        reason="lines/0 has no leader",
    )
    history = history_of(acked("lines", "a=1"), seen("lines", "a=1"), failed, components=READER)

    verdict = downgrade_if_fault_missing(NoLoss(topic="lines").judge(history), history)

    assert verdict.answer == "unknown"
    assert verdict.says.startswith(
        "kill leader of lines/0 could not be injected; without it: 1 acked, 1 seen"
    )


def test_a_promise_that_was_broken_stays_broken_during_any_fault():
    failed = event(3, "inject_failed", fault=0, kind="kill", target="poet", reason="gone")
    history = history_of(
        acked("lines", "a=1"),
        acked("lines", "a=2"),
        seen("lines", "a=1"),
        failed,
        components=READER,
    )

    assert downgrade_if_fault_missing(NoLoss(topic="lines").judge(history), history).fails
