from histories import event, heal, history_of, inject, ns, undrained

from streambed.kinds.checks.course import FOREVER_NS, drained, faults_of, names_between


def test_a_fault_is_active_from_inject_to_heal():
    faults = faults_of(history_of(inject(10, "partition"), heal(25, "partition")))

    assert names_between(faults, start=ns(9), end=ns(11)) == "partition"
    assert names_between(faults, start=ns(26), end=ns(30)) == ""


def test_a_fault_that_was_never_healed_lasts_until_the_end():
    history = history_of(inject(10, "kill"), event(20, "heal_failed", fault=0, kind="kill", reason="it would not start"))

    assert [fault.end for fault in faults_of(history)] == [FOREVER_NS]


def test_several_faults_of_a_kind_are_told_apart_by_their_target():
    history = history_of(
        inject(1, "kill", "one"), heal(2, "kill", "one"), inject(3, "kill", "two", fault=1), heal(4, "kill", "two", fault=1)
    )

    assert names_between(faults_of(history), start=0, end=ns(9)) == "kill one, kill two"
    assert [fault.end for fault in faults_of(history)] == [ns(2), ns(4)]


def test_a_run_without_a_word_on_its_drain_did_not_drain():
    assert not drained(history_of(broken=True), "reader", ["reader"])
    assert drained(history_of(), "reader", ["reader"])


def test_a_reader_that_had_died_did_not_catch_up_whatever_the_drain_says():
    died = event(150, "process_ended", component="reader", status=-9)

    assert not drained(history_of(event(1, "process_started", component="reader"), died), "reader", ["reader"])
    assert drained(history_of(died, event(160, "process_started", component="reader")), "reader", ["reader"])
    assert drained(history_of(died), "readers", ["reader", "another"])


def test_a_drain_that_waits_for_a_group_waits_for_its_members():
    history = history_of(undrained("readers is 8 records behind"))

    assert not drained(history, "readers", ["one", "two"])
    assert drained(history, "readers-2", ["three"])
