"""The check `late_as_declared`: a job drops no more records than were late."""

from dataclasses import replace

from streambed.kinds.checks import LateAsDeclared
from tests.support.contents import FIRST, late, timed
from tests.support.pipelines import PIPELINE, declared


def test_a_job_that_drops_only_late_records_is_as_declared():
    verdict = late(FIRST, timed(1, (1, 4), watermark=90, late=1))

    assert verdict.holds, verdict.says
    assert verdict.says == "1 row dropped, of 1 late record in 2 batches"


def test_a_job_that_drops_more_than_it_had_late_records_fails():
    verdict = late(FIRST, timed(1, (1, 4), watermark=90, late=2))

    assert verdict.fails
    assert verdict.says == "batch 1 dropped 2 rows, but had 1 late records"


def test_a_watermark_ahead_of_the_delay_fails():
    verdict = late(FIRST, timed(1, (1, 4), watermark=96, late=2))

    assert verdict.fails
    assert "the watermark of batch 1 is 6 s ahead of what a delay of 10s allows" in verdict.says


def test_a_record_is_late_by_the_end_of_its_window():
    last = timed(1, (1, 4), watermark=90, late=1)

    assert late(FIRST, last, window="10s").holds
    assert late(FIRST, last, window="40s").fails


def test_a_job_without_state_or_without_batches_is_unknown():
    assert late().answer == "unknown"
    assert late(replace(FIRST, late_rows=None)).answer == "unknown"


def test_a_wrong_event_time_is_refused():
    check = LateAsDeclared(of="shout", event_time="valeu", delay="10s")

    (problem,) = check.problems(declared(PIPELINE))

    assert problem.key == "event_time"


def test_each_query_has_a_watermark_of_its_own():
    ahead = replace(timed(0, (0, 1), watermark=85, late=0), query="second")

    verdict = late(FIRST, timed(1, (1, 4), watermark=90, late=1), ahead)

    assert verdict.fails
