"""The check `no_loss`: what is lost, where, and during which fault."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streambed import Consumer, Kafka
from streambed.kinds.checks import CHECKS
from streambed.kinds.checks.no_loss import NAMES_SHOWN, NoLoss
from streambed.record.history import History
from tests.support.histories import (
    acked,
    batch,
    behind,
    event,
    heal,
    history_of,
    inject,
    seen,
    sent,
    undrained,
    witnessed,
)
from tests.support.no_loss import verdict_of


def test_the_table_of_checks_names_it():
    assert CHECKS["no_loss"] is NoLoss


def test_an_acked_record_never_seen_fails_no_loss():
    history = history_of(acked("lines", "a=1"), acked("lines", "a=2"), seen("lines", "a=1"))

    verdict = NoLoss(topic="lines").judge(history)

    assert verdict.fails
    assert verdict.says == "1 of 2 acked records was never seen: a=2"


def test_every_acked_record_seen_holds_and_duplicates_are_allowed():
    verdict = verdict_of(
        acked("lines", "a=1"),
        acked("lines", "a=2"),
        seen("lines", "a=1"),
        seen("lines", "a=2"),
        seen("lines", "a=2"),
    )

    assert verdict.holds
    assert verdict.says == "2 acked, 2 seen; 1 duplicate, allowed at least once"


def test_what_was_not_acked_need_not_be_seen():
    assert (
        verdict_of(sent("lines", "a=1"), acked("lines", "a=2"), seen("lines", "a=2")).says
        == "1 acked, 1 seen"
    )


def test_other_topics_do_not_count():
    assert (
        verdict_of(acked("lines", "a=1"), acked("words", "a=2"), seen("lines", "a=1")).says
        == "1 acked, 1 seen"
    )


def test_an_empty_history_is_unknown():
    verdict = NoLoss(topic="lines").judge(History())

    assert (verdict.answer, verdict.says) == ("unknown", "the run broke before the load ended")


def test_nothing_acked_is_unknown():
    verdict = verdict_of(sent("lines", "a=1"), seen("lines", "a=1"))

    assert (verdict.answer, verdict.says) == ("unknown", "nothing was acked on lines")


def test_a_run_that_broke_under_load_is_unknown():
    assert verdict_of(acked("lines", "a=1"), seen("lines", "a=1"), broken=True).answer == "unknown"


def test_nobody_reading_and_no_witness_is_unknown():
    verdict = verdict_of(acked("lines", "a=1"))

    assert (verdict.answer, verdict.says) == (
        "unknown",
        "no component reads lines, and no witness read it back",
    )


def test_the_witness_is_the_reader_where_there_is_no_other():
    assert verdict_of(acked("lines", "a=1"), witnessed("lines", "a=1")).says == "1 acked, 1 seen"


def test_the_witness_tells_lost_in_the_log_from_lost_on_the_way():
    records = [acked("lines", f"a={number}") for number in (1, 2, 3)]

    verdict = verdict_of(*records, seen("lines", "a=1"), witnessed("lines", "a=1", "a=2"))

    assert verdict.says == (
        "2 of 3 acked records were never seen: "
        "a=2 (lost on the way to reader), a=3 (lost in the log)"
    )
    assert [lost["where"] for lost in verdict.evidence["lost"]] == [
        "lost on the way to reader",
        "lost in the log",
    ]


@pytest.mark.parametrize(
    "sign",
    [event(300, "witness_incomplete"), event(300, "process_ended", component="witness", status=1)],
)
def test_a_witness_that_gave_up_proves_nothing(sign):
    records = [acked("lines", "a=1"), acked("lines", "a=2"), witnessed("lines", "a=1")]

    assert verdict_of(*records, sign).answer == "unknown"
    assert (
        verdict_of(*records, seen("lines", "a=1"), sign).says
        == "1 of 2 acked records was never seen: a=2"
    )


def test_a_lost_record_names_the_fault_it_was_sent_in():
    fault = (inject(1.5, "kill", "broker2"), heal(2.5, "kill", "broker2"))

    verdict = verdict_of(acked("lines", "a=1"), acked("lines", "a=2"), seen("lines", "a=1"), *fault)

    assert verdict.says == "1 of 2 acked records was never seen: a=2; sent during kill"
    assert verdict.evidence["lost"] == [
        {
            "producer": "a",
            "sequence": 2,
            "topic": "lines",
            "partition": 0,
            "offset": 2,
            "part": "either",
            "where": "never seen by reader",
            "during": "kill",
            "before": "",
        }
    ]


def test_many_lost_records_are_named_as_ranges_and_kept_whole_in_the_evidence():
    names = [f"a={2 * number}" for number in range(50)] + ["b=5", "b=6", "b=7"]

    verdict = verdict_of(
        acked("lines", "a=1"), seen("lines", "a=1"), *(acked("lines", name) for name in names)
    )

    assert verdict.says.startswith("53 of 54 acked records were never seen: a=0, a=2, a=4, ")
    assert verdict.says.endswith(f"and {51 - NAMES_SHOWN} more")
    assert len(verdict.evidence["lost"]) == 53
    assert verdict_of(
        seen("lines", "a=1"), *(acked("lines", name) for name in names[-3:])
    ).says.endswith("never seen: b=5–7")


def test_a_record_that_the_log_lost_is_named_once_for_all_readers():
    lines = [
        acked("lines", "a=1"),
        acked("lines", "a=2"),
        seen("lines", "a=1"),
        batch("counter", 1, 5, lines=(0, 9)),
    ]

    verdict = verdict_of(*lines, witnessed("lines", "a=1"))

    assert verdict.says == "1 of 2 acked records was never seen: a=2 (lost in the log)"
    assert len(verdict.evidence["lost"]) == 1


def test_topics_and_readers_that_do_not_exist_are_problems():
    components = {
        "kafka": Kafka(name="kafka", nodes=("broker",), topics={"lines": {}}),
        "reader": Consumer(name="reader", node="home", reads="lines", group="readers"),
    }

    assert NoLoss(topic="lines", by=("reader", "readers")).problems(components) == []
    assert [
        problem.key for problem in NoLoss(topic="lnies", by=("raeder",)).problems(components)
    ] == ["topic", "by"]


@given(
    present=st.sets(st.integers(0, 20)),
    numbers=st.sets(st.integers(0, 20), min_size=1),
    drained=st.booleans(),
    data=st.data(),
)
def test_seeing_less_never_makes_it_better(present, numbers, drained, data):
    end = () if drained else (undrained(behind("reader")),)
    fewer = present - {data.draw(st.sampled_from(sorted(numbers)))}
    declared = {"reader": {"kind": "consumer", "node": "home", "reads": "lines"}}
    records = [acked("lines", f"a={number}") for number in numbers]
    before = verdict_of(
        *records, *(seen("lines", f"a={number}") for number in present), *end, components=declared
    )
    after = verdict_of(
        *records, *(seen("lines", f"a={number}") for number in fewer), *end, components=declared
    )

    assert not (after.holds and not before.holds)
    assert before.holds == (numbers <= present)


def leader_changed(seconds: float, was: str, now: str):
    names = {"component": "kafka", "topic": "lines", "partition": 0, "was": was, "now": now}
    return event(seconds, "leader_changed", **names)


def test_a_record_acked_just_before_the_fault_that_deposed_its_leader_names_that_fault():
    verdict = verdict_of(
        leader_changed(0, "", "b1"),
        acked("lines", "a=1", due=1), seen("lines", "a=1"), witnessed("lines", "a=1"),
        acked("lines", "a=2", due=2.5),
        inject(3, "kill"), leader_changed(6, "b1", "b2"), heal(7, "kill"),
    )  # fmt: skip

    assert verdict.says == (
        "1 of 2 acked records was never seen: a=2 (lost in the log); acked just before kill"
    )
    (lost,) = verdict.evidence["lost"]
    assert (lost["during"], lost["before"]) == ("kill", "kill")


def test_a_fault_that_cost_no_leader_its_lead_is_not_blamed():
    verdict = verdict_of(
        leader_changed(0, "", "b1"),
        acked("lines", "a=1", due=1), seen("lines", "a=1"), witnessed("lines", "a=1"),
        acked("lines", "a=2", due=2.5),
        inject(3, "kill"), heal(7, "kill"),
    )  # fmt: skip

    (lost,) = verdict.evidence["lost"]
    assert (lost["during"], lost["before"]) == ("", "")


def test_a_verdict_is_brief_for_a_headline():
    lost = verdict_of(acked("lines", "a=1"), acked("lines", "a=2"), seen("lines", "a=1"))
    whole = verdict_of(acked("lines", "a=1"), seen("lines", "a=1"))

    assert lost.brief == "1 of 2 acknowledged records of lines lost"
    assert whole.brief == "no record of lines lost"
    assert not lost.punctual
