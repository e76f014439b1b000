"""The check `no_loss` for Spark jobs, whose reads are known by their batches."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from tests.support.histories import (
    acked,
    batch,
    seen,
    witnessed,
)
from tests.support.no_loss import verdict_of

COUNTER = {"counter": {"kind": "spark_job", "node": "engine", "reads": ["lines"], "writes": []}}


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


@given(taken=st.lists(st.tuples(st.integers(0, 20), st.integers(0, 5))), offset=st.integers(0, 25))
def test_a_job_has_seen_an_offset_just_if_some_batch_took_it(taken, offset):
    batches = [
        batch("counter", number, number + 1, lines=(first, first + count))
        for number, (first, count) in enumerate(taken)
    ]
    reference = acked("lines", "r=100"), batch("counter", 150, 151, lines=(100, 101))

    verdict = verdict_of(acked("lines", f"a={offset}"), *reference, *batches)

    assert verdict.holds == any(first <= offset < first + count for first, count in taken)
