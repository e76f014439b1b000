"""Checks of time: available, fresh, recovers."""

from streambed.kinds.checks import Available, Fresh, Recovers
from streambed.results import frames
from tests.support.histories import (
    acked,
    behind,
    event,
    heal,
    history_of,
    inject,
    seen,
    sent,
    undrained,
)
from tests.support.pipelines import PIPELINE, declared

WRITER = {"kind": "producer", "node": "edge", "writes": "lines", "rate": "1/s", "size": "10B"}
ALL = {**PIPELINE, "a": WRITER}


def load(seconds, *, delay=lambda due: 0.1, per_s=1):
    """Records due at a steady rate, each acked and seen after a delay."""
    lines = []
    for number in range(seconds * per_s):
        due = number / per_s
        lines.append(sent("lines", f"a={number}", due=due, acked_at=due + 0.05))
        lines.append(seen("lines", f"a={number}", at=due + delay(due)))
    return lines


def available(*lines, **keys):
    return Available(topic="lines", **keys).judge(history_of(*lines, components=ALL))


def fresh(*lines, **keys):
    return Fresh(of="reader", **keys).judge(history_of(*lines, components=ALL))


def recovers(*lines, **keys):
    return Recovers(of="reader", **keys).judge(history_of(*lines, components=ALL))


def test_records_acked_in_time_are_available():
    verdict = available(*[acked("lines", f"a={n}") for n in range(10)], within="1s")

    assert verdict.holds
    assert verdict.says == (
        "100 % of 10 records acked within 1 s, wanted 99 %; longest gap 1 s from 0:00"
    )


def test_a_record_acked_too_late_or_never_counts_by_its_due_time():
    lines = [acked("lines", "a=1"), sent("lines", "a=2", acked_at=9), sent("lines", "a=3")]

    assert available(*lines, within="2s", share="30%").holds
    assert available(*lines, within="2s", share="34%").fails


def test_a_long_gap_fails_and_names_the_fault():
    lines = [acked("lines", "a=1"), acked("lines", "a=20"), inject(5, "cut"), heal(15, "cut")]

    verdict = available(*lines, within="1s", gap="5s")

    assert verdict.fails
    assert "longest gap 19 s (limit 5 s) from 0:01, overlaps cut" in verdict.says


def test_a_gap_at_the_end_counts():
    lines = [acked("lines", "a=1"), sent("lines", "a=9")]

    assert available(*lines, within="1s", share="1%", gap="5s").fails


def test_records_due_while_the_producer_was_down_are_not_counted():
    lines = [acked("lines", f"a={n}") for n in (0, 1, 2, 3, 8, 9)]
    end = event(4.5, "process_ended", component="a", status=-9)

    verdict = available(*lines, end, within="1s", share="100%")

    assert verdict.answer == "unknown"
    assert (verdict.evidence["unnoted"], verdict.evidence["producer_down"]) == (1, 3)
    assert available(*lines, end, within="1s", share="80%").holds


def test_acks_of_nobody_are_unknown():
    assert available(acked("lines", "a=1", offset=-1), within="1s").answer == "unknown"
    assert available(within="1s").answer == "unknown"


def test_availability_needs_a_producer_with_a_ledger():
    (problem,) = Available(topic="lines", within="1s").problems(declared(PIPELINE))
    assert problem.says.startswith("no producer writes lines")
    silent = {**PIPELINE, "a": {**WRITER, "ledger": False}}
    (problem,) = Available(topic="lines", within="1s").problems(declared(silent))
    assert problem.says.startswith("a keeps no ledger")


def test_a_reader_that_sees_everything_at_once_is_fresh():
    verdict = fresh(*load(20), within="1s", share="100%")

    assert verdict.holds
    assert verdict.evidence["max_ns"] <= 100_000_000


def test_staleness_is_a_share_of_time_not_of_records():
    # For 10 of 20 seconds nothing is seen; then all at once.
    stuck = load(20, delay=lambda due: max(0.1, 15 - due) if due >= 5 else 0.1)

    verdict = fresh(*stuck, within="1s", share="60%")

    assert verdict.fails
    assert 9.8e9 <= verdict.evidence["max_ns"] <= 10e9
    assert fresh(*stuck, within="1s", share="50%").holds


def test_a_record_that_is_not_acked_yet_makes_nobody_stale():
    late = [sent("lines", "a=5", acked_at=12), seen("lines", "a=5", at=12.05)]

    assert fresh(*load(4), *late, acked("lines", "a=13"), seen("lines", "a=13"), within="2s").holds


def test_records_that_may_not_have_been_seen_leave_freshness_open():
    unseen = [acked("lines", "a=21", due=5), undrained(behind("reader"))]

    assert fresh(*load(20), *unseen, within="2s").answer == "unknown"


def test_without_records_freshness_is_unknown():
    assert fresh(within="2s").answer == "unknown"


FAULT = [inject(15, "kill"), heal(18, "kill")]


def backlog(due):
    """Stuck from 15 to 22, then everything at once."""
    return 22.1 - due if 15 <= due < 22 else 0.1


def test_recovery_has_four_parts():
    verdict = recovers(*load(60, delay=backlog, per_s=4), *FAULT, within="5s")

    assert verdict.holds, verdict.says
    (fault,) = verdict.evidence["faults"]
    assert fault["effect_ns"] == 150_000_000
    assert 7.2e9 < fault["outage_ns"] < 7.5e9
    assert 4.0e9 < fault["restored_ns"] < 4.2e9
    assert fault["caught_up_ns"] == 4e9


def test_a_slow_recovery_fails():
    lines = [*load(60, delay=backlog, per_s=4), *FAULT]

    verdict = recovers(*lines, within="3s")

    assert verdict.fails
    assert "caught up 4 s (limit 3 s)" in verdict.says


def test_less_than_ten_seconds_before_the_fault_are_no_baseline():
    early = [inject(5, "kill"), heal(8, "kill")]

    verdict = recovers(*load(60), *early, within="5s")

    assert verdict.answer == "unknown"
    assert verdict.says.startswith("only 5 s of load before the first fault")


def test_overlapping_faults_are_recovered_from_together():
    faults = [*FAULT, inject(17, "cut", fault=1), heal(20, "cut", fault=1)]

    verdict = recovers(*load(60, delay=backlog, per_s=4), *faults, within="5s")

    (fault,) = verdict.evidence["faults"]
    assert fault["faults"] == "kill, cut"
    assert fault["caught_up_ns"] == 2e9


def test_a_load_that_ends_before_the_hold_is_unknown():
    verdict = recovers(*load(25, delay=backlog, per_s=4), *FAULT, within="5s")

    assert verdict.answer == "unknown"
    assert "too short for the hold" in verdict.says


def test_a_single_slow_record_does_not_delay_catching_up():
    def one_slow(due):
        return 3 if due == 23 else backlog(due)

    verdict = recovers(*load(40, delay=one_slow, per_s=200), *FAULT, within="5s")

    assert verdict.holds
    assert verdict.evidence["faults"][0]["caught_up_ns"] == 4e9


def test_recovery_needs_a_fault():
    (problem,) = Recovers(of="reader", within="5s").fault_problems(())
    assert problem.says == "no fault is declared: there is nothing to recover from"
    assert recovers(*load(30), within="5s").answer == "unknown"


def test_seconds_in_which_nothing_was_due_do_not_count_for_the_hold():
    early = [sent("lines", f"a={n}", due=n, acked_at=n + 0.05) for n in range(15)]
    early += [seen("lines", f"a={n}", at=n + 0.1) for n in range(15)]
    last = [sent("lines", "a=40", due=40, acked_at=40.05), seen("lines", "a=40", at=40.1)]

    verdict = recovers(*early, *last, *FAULT, within="5s")

    assert verdict.answer == "unknown"


def test_an_outage_without_end_lasts_until_the_last_due_record():
    lines = [sent("lines", f"a={n}", due=n, acked_at=n + 0.05) for n in range(60)]
    lines += [seen("lines", f"a={n}", at=n + 0.1) for n in range(15)]

    verdict = recovers(*lines, *FAULT, within="5s")

    assert verdict.fails
    (fault,) = verdict.evidence["faults"]
    assert 44e9 < fault["outage_ns"] < 46e9
    assert fault["ack_outage_ns"] < 2e9


def test_recoveries_are_a_table_for_people():
    history = history_of(*load(60, delay=backlog, per_s=4), *FAULT, components=ALL)

    table = frames.recoveries(history, "reader")

    assert table.columns == ["t", "faults", "effect", "outage", "restored", "caught_up"]
    assert table.height == 1
    assert table["caught_up"][0].total_seconds() > 0


def test_without_a_baseline_there_are_no_recoveries():
    history = history_of(*load(60), components=ALL)

    assert frames.recoveries(history, "reader").is_empty()
