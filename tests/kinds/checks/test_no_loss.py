from dataclasses import replace

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
    unreadable,
    witnessed,
)

COUNTER = {"counter": {"kind": "spark_job", "node": "engine", "reads": ["lines"], "writes": []}}


def verdict_of(*lines, by=(), **options):
    return NoLoss(topic="lines", by=by).judge(history_of(*lines, **options))


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


def test_consumers_of_a_group_see_together():
    records = [acked("lines", "a=1"), acked("lines", "a=2")]

    assert verdict_of(
        *records,
        seen("lines", "a=1", by="one", group="all"),
        seen("lines", "a=2", by="two", group="all"),
    ).holds


def test_every_group_must_see_everything_unless_named():
    lines = [
        acked("lines", "a=1"),
        acked("lines", "a=2"),
        seen("lines", "a=1"),
        seen("lines", "a=2"),
        seen("lines", "a=1", by="other"),
    ]

    assert (
        verdict_of(*lines).says == "1 of 2 acked records was never seen: a=2 (never seen by other)"
    )
    assert verdict_of(*lines, by=["reader"]).says == "2 acked, 2 seen"
    assert (
        verdict_of(*lines, seen("lines", "a=2", by="other")).says
        == "2 acked, 2 seen by reader, 2 seen by other"
    )


def test_a_declared_group_that_saw_nothing_fails():
    declared = {
        "reader": {"kind": "consumer", "node": "home", "reads": "lines", "group": "readers"}
    }

    assert (
        verdict_of(acked("lines", "a=1"), components=declared).says
        == "1 of 1 acked records was never seen: a=1"
    )


@pytest.mark.parametrize(
    "silent", [{"kind": "producer", "writes": ["lines"]}, {"kind": "consumer", "reads": ["lines"]}]
)
def test_without_the_ledger_of_all_that_write_or_read_it_is_unknown(silent):
    verdict = verdict_of(
        acked("lines", "a=1"),
        seen("lines", "a=1"),
        components={"hushed": {**silent, "ledger": False}},
    )

    assert (verdict.answer, verdict.says) == ("unknown", "hushed kept no ledger of lines")


def test_a_reader_that_does_not_exist_is_unknown():
    verdict = verdict_of(acked("lines", "a=1"), seen("lines", "a=1"), by=["raeder"])

    assert (verdict.answer, verdict.says) == (
        "unknown",
        "nothing in this run is called raeder and reads lines",
    )


def test_a_run_that_ended_before_a_reader_caught_up_is_unknown():
    records = [acked("lines", "a=1"), acked("lines", "a=2"), seen("lines", "a=1")]

    verdict = verdict_of(*records, undrained(behind("reader")))

    assert (verdict.answer, verdict.says) == (
        "unknown",
        "the run ended before reader had seen 1 of 2 acked records",
    )
    assert verdict_of(*records, undrained(behind("reader2"))).fails


def test_a_gap_before_the_end_fails_even_if_the_run_did_not_drain():
    records = [acked("lines", f"a={number}") for number in (1, 2, 3, 4)]

    verdict = verdict_of(
        *records, seen("lines", "a=1"), seen("lines", "a=3"), undrained(behind("reader"))
    )

    assert verdict.says == "1 of 4 acked records was never seen: a=2"


def test_a_topic_that_could_not_be_read_makes_what_is_missing_unknown():
    records = [
        acked("lines", "a=1"),
        acked("lines", "a=2"),
        seen("lines", "a=1"),
        witnessed("lines", "a=1", "a=2"),
    ]

    verdict = verdict_of(*records, undrained(unreadable("lines")))

    assert (verdict.answer, verdict.says) == (
        "unknown",
        "the run ended before reader had seen 1 of 2 acked records",
    )
    assert verdict_of(*records, undrained(unreadable("words"))).fails


def test_a_partition_without_a_leader_leaves_open_that_partition_alone():
    records = [acked("lines", "a=1"), acked("lines", "b=1", partition=1), seen("lines", "a=0")]

    verdict = verdict_of(*records, undrained(unreadable("lines", partition=1)))

    assert verdict.says == "1 of 2 acked records was never seen: a=1"


def test_a_reader_that_is_behind_does_not_hide_the_loss_of_one_whose_name_begins_alike():
    declared = {
        name: {"kind": "consumer", "node": "home", "reads": ["lines"]}
        for name in ("reader", "reader.two")
    }
    records = [
        acked("lines", "a=1"),
        acked("lines", "a=2"),
        seen("lines", "a=1"),
        seen("lines", "a=1", by="reader.two"),
    ]

    verdict = verdict_of(*records, undrained(behind("reader.two")), components=declared)

    assert verdict.fails
    assert verdict.says == "1 of 2 acked records was never seen: a=2 (never seen by reader)"


def test_a_group_that_starts_at_the_latest_need_not_see_what_is_older():
    declared = {
        "reader": {"kind": "consumer", "node": "home", "reads": ["lines"], "start": "latest"}
    }
    records = [acked("lines", f"a={number}") for number in (1, 2, 3)]

    assert (
        verdict_of(*records, seen("lines", "a=2"), components=declared).says
        == "1 of 3 acked records was never seen: a=3"
    )
    holds = verdict_of(*records, seen("lines", "a=2"), seen("lines", "a=3"), components=declared)
    assert holds.says == "3 acked, 2 seen, 1 older than what reader began with"
    assert (
        verdict_of(*records, components=declared).says
        == "reader began at the latest record and saw none"
    )


def test_a_consumer_is_judged_by_identity_where_offsets_are_unknown():
    records = [acked("lines", "a=1", offset=-1), acked("lines", "a=2", offset=-1)]

    assert verdict_of(*records, seen("lines", "a=1"), seen("lines", "a=2")).holds
    assert verdict_of(*records, seen("lines", "a=1")).fails
    assert (
        verdict_of(*records, seen("lines", "a=1"), undrained(behind("reader"))).answer == "unknown"
    )


def test_a_spark_job_has_seen_the_offsets_its_batches_took():
    records = [acked("lines", "a=0"), acked("lines", "a=1")]

    holds = verdict_of(
        *records, batch("counter", 1, 2, lines=(0, 1)), batch("counter", 2, 3, lines=(1, 2))
    )
    fails = verdict_of(*records, batch("counter", 1, 2, lines=(0, 1)))

    assert holds.says == "2 acked, 2 seen"
    assert fails.says == "1 of 2 acked records was never seen: a=1"


def test_a_batch_without_a_report_took_what_lies_between_its_neighbours():
    records = [acked("lines", f"a={number}") for number in range(4)]
    first, second, third = (
        batch("counter", 1 + first, 2 + first, lines=(first, past))
        for first, past in ((0, 1), (1, 3), (3, 4))
    )
    first, second, third = (
        replace(one, batch=number) for number, one in enumerate((first, second, third))
    )

    assert verdict_of(*records, first, third).says == "4 acked, 4 seen"
    assert verdict_of(*records, first, second).says == "1 of 4 acked records was never seen: a=3"
    unbroken = replace(third, batch=1)  # No number is left out: nobody took what is missing.
    assert (
        verdict_of(*records, first, unbroken).says == "2 of 4 acked records were never seen: a=1–2"
    )


def test_a_spark_job_reads_each_partition_for_itself():
    records = [acked("lines", "a=3"), acked("lines", "b=3", partition=1)]

    assert verdict_of(*records, batch("counter", 1, 5, lines={0: (0, 4), 1: (0, 3)})).says.endswith(
        "never seen: b=3"
    )
    assert verdict_of(*records, batch("counter", 1, 5, lines={0: (0, 4), 1: (3, 4)})).holds


def test_offsets_that_two_batches_took_are_duplicates():
    verdict = verdict_of(
        acked("lines", "a=1"),
        batch("counter", 1, 2, lines=(0, 2)),
        batch("counter", 3, 4, lines=(0, 2)),
    )

    assert verdict.says == "1 acked, 1 seen; 1 duplicate, allowed at least once"


def test_a_spark_job_without_any_batch_is_unknown():
    verdict = verdict_of(acked("lines", "a=1"), components=COUNTER)

    assert (verdict.answer, verdict.says) == (
        "unknown",
        "the run ended before counter had seen 1 of 1 acked records",
    )


def test_a_spark_job_is_unknown_where_offsets_are_unknown():
    verdict = verdict_of(
        acked("lines", "a=1", offset=-1), batch("counter", 1, 2, lines=(0, 9)), seen("lines", "a=1")
    )

    assert (verdict.answer, verdict.says) == (
        "unknown",
        "counter cannot be judged: the offsets of 1 acked record are unknown",
    )


def test_a_spark_job_did_not_see_what_the_log_had_lost():
    records = [acked("lines", "a=1"), acked("lines", "a=2")]

    verdict = verdict_of(*records, batch("counter", 1, 5, lines=(0, 9)), witnessed("lines", "a=1"))

    assert verdict.says == "1 of 2 acked records was never seen: a=2 (lost in the log)"


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


def test_a_declaration_is_told_of_topics_and_readers_that_do_not_exist():
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


@given(taken=st.lists(st.tuples(st.integers(0, 20), st.integers(0, 5))), offset=st.integers(0, 25))
def test_a_job_has_seen_an_offset_just_if_some_batch_took_it(taken, offset):
    batches = [
        batch("counter", number, number + 1, lines=(first, first + count))
        for number, (first, count) in enumerate(taken)
    ]
    reference = acked("lines", "r=100"), batch("counter", 150, 151, lines=(100, 101))

    verdict = verdict_of(acked("lines", f"a={offset}"), *reference, *batches)

    assert verdict.holds == any(first <= offset < first + count for first, count in taken)


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
