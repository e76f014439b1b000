"""The check `no_loss` for groups and readers, caught up or not."""

import pytest

from tests.support.histories import (
    acked,
    behind,
    seen,
    undrained,
    unreadable,
    witnessed,
)
from tests.support.no_loss import verdict_of


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


def test_a_reader_that_is_behind_does_not_hide_the_loss_of_one_with_the_same_prefix():
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
