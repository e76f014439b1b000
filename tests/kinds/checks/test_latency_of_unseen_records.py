"""The check `latency`: records that were never seen, or might still have been."""

from streambed.kinds.checks.latency import Latency
from streambed.record.history import History
from tests.support.histories import (
    acked,
    behind,
    seen,
    sent,
    undrained,
)
from tests.support.latency import verdict_of


def test_an_acked_record_that_was_surely_never_seen_is_slower_than_any_limit():
    lines = [
        acked("lines", "a=1"),
        seen("lines", "a=1"),
        acked("lines", "a=2"),
        acked("lines", "a=3"),
    ]

    verdict = verdict_of(*lines, max="1s")

    assert verdict.fails
    assert verdict.says == "reader max never, limit 1 s; slowest 0:02–0:03; 2 records never arrived"
    assert (
        verdict.evidence["never_seen"],
        verdict.evidence["lost"],
        verdict.evidence["max_ns"],
    ) == (2, 2, None)
    assert verdict_of(*lines, p50="1s").fails


def test_few_lost_records_do_not_break_the_median():
    lines = [
        line
        for number in range(1, 10)
        for line in (acked("lines", f"a={number}"), seen("lines", f"a={number}"))
    ]

    verdict = verdict_of(*lines, acked("lines", "a=10"), p50="1s")

    assert verdict.holds
    assert verdict.says == (
        "reader p50 1 s, p99 never, max never over 10 records; limit p50 1 s; "
        "1 record never arrived"
    )


def test_records_that_might_still_have_been_seen_make_it_unknown_where_they_matter():
    lines = [
        acked("lines", "a=1"),
        seen("lines", "a=1"),
        acked("lines", "a=2"),
        acked("lines", "a=3"),
        undrained(behind("reader")),
    ]

    verdict = verdict_of(*lines, max="1s")

    assert verdict.answer == "unknown"
    assert verdict.says == "reader: it depends on 2 records that might still have been seen"


def test_records_that_might_still_have_been_seen_do_not_mend_a_broken_limit():
    lines = [
        acked("lines", "a=1"),
        seen("lines", "a=1", at=90),
        acked("lines", "a=2"),
        undrained(behind("reader")),
    ]

    assert verdict_of(*lines, max="1s").fails


def test_records_that_were_not_acked_are_not_counted_as_lost():
    few = [acked("lines", "a=1"), seen("lines", "a=1"), sent("lines", "a=2", offset=-1)]
    many = [
        line
        for number in range(1, 200)
        for line in (acked("lines", f"b={number}"), seen("lines", f"b={number}"))
    ]

    assert verdict_of(*few, max="1s").answer == "unknown"
    assert verdict_of(*few, *many, p50="1s").holds


def test_what_another_member_of_the_group_saw_is_not_missing_here():
    members = {
        name: {"kind": "consumer", "node": "home", "reads": ["lines"], "group": "readers"}
        for name in ("reader", "other")
    }
    lines = [acked("lines", "a=1"), seen("lines", "a=1", group="readers")]
    others = [acked("lines", "a=2"), seen("lines", "a=2", by="other", group="readers", at=50)]

    assert verdict_of(*lines, *others, components=members, max="1s").holds


def test_what_is_older_than_the_first_record_of_a_reader_that_starts_at_the_latest_is_not_missing():
    latest = {"reader": {"kind": "consumer", "node": "home", "reads": ["lines"], "start": "latest"}}
    lines = [acked("lines", "a=1"), acked("lines", "a=2"), seen("lines", "a=2")]

    assert verdict_of(*lines, components=latest, max="1s").holds


def test_a_group_on_one_host_that_saw_nothing_is_not_hidden_by_another():
    everywhere = {
        "reader": {"kind": "consumer", "nodes": ["h1", "h2"], "share": False, "reads": ["lines"]}
    }

    verdict = verdict_of(
        acked("lines", "a=1"),
        seen("lines", "a=1", at=1.2, by="reader/h1"),
        components=everywhere,
        max="1s",
    )

    assert verdict.fails
    assert verdict.evidence["lost"] == 1


def test_nothing_seen_fails_if_the_reader_had_caught_up_and_is_unknown_otherwise():
    assert verdict_of(acked("lines", "a=1"), max="1s").fails

    verdict = verdict_of(acked("lines", "a=1"), undrained(behind("reader")), max="1s")

    assert (verdict.answer, verdict.says) == (
        "unknown",
        "reader: the fate of 1 record is unknown",
    )


def test_an_empty_or_broken_history_is_unknown():
    assert Latency(of="reader", p50="1s").judge(History()).answer == "unknown"
    assert (
        verdict_of(acked("lines", "a=1"), seen("lines", "a=1"), max="9s", broken=True).answer
        == "unknown"
    )
