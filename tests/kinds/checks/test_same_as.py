"""The check `same_as`: two jobs on the same input write the same records."""

from streambed.kinds.checks import SameAs
from tests.support.contents import TWO_JOBS, log, same
from tests.support.histories import (
    behind,
    undrained,
    witnessed,
)
from tests.support.pipelines import declared


def test_the_same_records_in_another_order_of_keys_are_the_same():
    assert same(log("one", "x:1", "y:2", "x:3"), log("two", "y:2", "x:1", "x:3")).holds


def test_another_order_within_a_key_is_a_difference():
    verdict = same(log("one", "x:1", "x:3"), log("two", "x:3", "x:1"))

    assert verdict.fails
    assert verdict.says == "1 key in another order"


def test_a_record_that_only_one_job_wrote_is_a_difference():
    verdict = same(log("one", "x:1", "x:3", "x:3"), log("two", "x:1", "x:3"))

    assert verdict.fails
    assert verdict.says == "only in one: x=3"


def test_records_without_a_key_have_no_order():
    assert same(log("one", "1", "2"), log("two", "2", "1")).holds


def test_a_job_that_had_not_read_everything_leaves_a_difference_open():
    late = undrained(behind("other", "lines"))

    assert same(log("one", "x:1", "x:3"), log("two", "x:1"), late).answer == "unknown"


def test_topics_without_values_are_unknown():
    assert same(witnessed("one", "a=1"), witnessed("two", "a=1")).answer == "unknown"
    assert same().answer == "unknown"


def test_a_topic_that_no_job_writes_is_refused():
    (problem,) = SameAs(topic="one", other="lines").problems(declared(TWO_JOBS))

    assert problem.says == "no job is declared to write lines: name it in `writes`"


def test_two_jobs_that_had_not_read_everything_may_still_differ():
    late_ones = undrained(behind("shout", "lines"), behind("other", "lines"))

    assert same(log("one", "x:1"), log("two", "x:1"), late_ones).answer == "unknown"


def test_jobs_on_different_inputs_are_not_compared():
    kafka = {"kind": "kafka", "nodes": ["broker"]}
    topics = {"lines": {}, "more": {}, "one": {}, "two": {}}
    components = TWO_JOBS | {
        "kafka": {**kafka, "topics": topics},
        "other": {**TWO_JOBS["other"], "reads": ["more"]},
    }

    (problem,) = SameAs(topic="one", other="two").problems(declared(components))

    assert problem.key == "other"
    assert "shout reads lines, other reads more" in problem.says
