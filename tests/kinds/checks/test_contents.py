"""Checks of contents and order: equals, ordered, same_as."""

from dataclasses import replace

import pytest
from pydantic import ValidationError

from streambed.kinds.checks import Equals, LateAsDeclared, Ordered, SameAs
from streambed.record.ledger.stored_rows import BatchJob
from tests.support.histories import (
    acked,
    batch,
    behind,
    history_of,
    kept,
    seen,
    stored,
    undrained,
    witnessed,
)
from tests.support.pipelines import PIPELINE, declared

QUERY = "select word, n from totals"
SQL = "select value as word, count(*) as n from lines group by value"


def log(topic, *values, key=""):
    """A topic as the witness read it back, with values and one key."""
    lines = []
    for offset, value in enumerate(values):
        name, _, content = value.rpartition(":")
        own = name or key
        lines.append(seen(topic, f"a={offset}", by="witness", at=1000, key=own))
        lines.append(kept(topic, content, offset=offset, key=own))
    return lines


def equals(*lines, **keys):
    check = Equals(store="archive", query=QUERY, sql=SQL, key="word", **keys)
    assert check.problems(declared(PIPELINE)) == []
    return check.judge(history_of(*lines, components=PIPELINE))


def totals(*rows):
    return stored("archive", QUERY, ["word", "n"], *rows)


WORDS = log("lines", "to", "be", "to")


def test_a_store_that_has_the_answer_of_the_log_equals_it():
    verdict = equals(WORDS, totals(("be", 1), ("to", 2)))

    assert verdict.holds
    assert verdict.says == "2 rows of archive equal the answer of the log"


def test_a_count_that_is_too_high_fails():
    verdict = equals(WORDS, totals(("be", 1), ("to", 3)))

    assert verdict.fails
    assert verdict.says == "1 row of archive differ from the log: to n is 3, not 2"


def test_a_missing_row_and_a_row_too_many_fail():
    assert equals(WORDS, totals(("to", 2))).says.endswith("be is missing")
    extra = totals(("be", 1), ("to", 2), ("or", 1))
    assert equals(WORDS, extra).says.endswith("or is too many")


def test_numbers_may_differ_by_the_tolerance():
    rows = totals(("be", 1.4), ("to", 2.0))

    assert equals(WORDS, rows).fails
    assert equals(WORDS, rows, tolerance=0.5).holds


UNREAD = undrained(behind("shout", "lines", records=3))


def test_records_that_the_job_had_yet_to_read_make_an_interval_of_counts():
    low = [WORDS, UNREAD, totals(("be", 1), ("to", 1))]

    assert equals(*low, counts="n").holds
    assert equals(*low).answer == "unknown"
    assert equals(WORDS, UNREAD, totals(("be", 1), ("to", 3)), counts="n").fails


def test_late_rows_may_be_missing_but_none_may_be_added():
    dropped = replace(batch("shout", 1, 2, lines=(0, 3)), late_rows=1)

    assert equals(WORDS, dropped, totals(("to", 2)), counts="n").answer == "unknown"
    assert equals(WORDS, dropped, totals(("be", 1), ("to", 3)), counts="n").fails
    assert equals(WORDS, dropped, totals(("be", 1), ("to", 2))).holds


def test_late_rows_must_count_if_they_are_declared_wrong():
    dropped = replace(batch("shout", 1, 2, lines=(0, 3)), late_rows=1)

    verdict = equals(WORDS, dropped, totals(("to", 2)), counts="n", late="wrong")

    assert verdict.fails
    assert verdict.says.endswith("be is missing")
    with pytest.raises(ValidationError, match="give event_time or `late: wrong`"):
        equals(late="wrong", event_time="timestamp")


def test_columns_that_are_not_there_are_unknown():
    verdict = equals(WORDS, stored("archive", QUERY, ["word", "m"], ("to", 2)))

    assert verdict.says == "no column n; archive has word, m, the SQL has word, n"


def test_nothing_recorded_is_unknown():
    assert equals(WORDS).answer == "unknown"
    assert equals(totals(("to", 2))).answer == "unknown"
    assert equals(witnessed("lines", "a=1"), totals(("to", 2))).answer == "unknown"


@pytest.mark.parametrize(
    ("sql", "says"),
    [
        ("selec value from lines", "Parser Error: syntax error"),
        ("select kez from lines", 'Binder Error: Referenced column "kez" not found'),
        ("select * from line", "Catalog Error: Table with name line does not exist"),
        ("select 1", "it reads no topic"),
    ],
)
def test_wrong_sql_is_refused_when_the_file_is_read(sql, says):
    check = Equals(store="archive", query=QUERY, sql=sql, key="word")

    (problem,) = check.problems(declared(PIPELINE))

    assert problem.key == "sql"
    assert problem.says.startswith(says)


def test_a_store_that_is_not_declared_is_refused():
    check = Equals(store="archiv", query=QUERY, sql=SQL, key="word")

    (problem,) = check.problems(declared(PIPELINE))

    assert problem.says == "there is no store 'archiv'. Did you mean 'archive'?"


def by_job(*lines):
    check = Equals(store="archive", query=QUERY, job="truth.py:totals", topics="lines", key="word")
    assert check.problems(declared(PIPELINE)) == []
    return check.judge(history_of(*lines, components=PIPELINE))


def test_a_store_equals_the_answer_of_a_batch_job():
    job = BatchJob(text="truth.py:totals", topics=("lines",))
    truth = replace(stored("spark", "", ["word", "n"], ("be", 1), ("to", 2)), name=job.name)

    assert by_job(WORDS, truth, totals(("to", 2), ("be", 1))).holds
    assert by_job(WORDS, truth, totals(("to", 3), ("be", 1))).fails
    assert by_job(WORDS, totals(("to", 2), ("be", 1))).answer == "unknown"


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ({"sql": SQL, "job": "truth.py:totals"}, "give sql or job"),
        ({"job": "truth.py:totals"}, "topics are needed with job"),
        ({"job": "truth", "topics": "lines"}, "write FILE.py:FUNCTION"),
    ],
)
def test_one_reference_is_needed(keys, says):
    with pytest.raises(ValidationError, match=says):
        Equals(store="archive", query=QUERY, key="word", **keys)


def keyed(*names, topic="lines", by="witness"):
    """Records of one key at rising offsets."""
    return [
        seen(topic, name, by=by, offset=offset, at=1000 + offset, key="k")
        for offset, name in enumerate(names)
    ]


def ordered(*lines, to="reader", **keys):
    check = Ordered(topic="lines", to=to, **keys)
    assert check.problems(declared(PIPELINE)) == []
    return check.judge(history_of(*lines, components=PIPELINE))


INPUT = [acked("lines", "a=1"), *keyed("a=0", "a=1", "a=2")]


def saw(*numbers):
    return [
        seen("lines", f"a={number}", at=at, key="k") for at, number in enumerate(numbers, start=5)
    ]


def test_a_group_that_sees_a_key_in_the_order_of_the_log_is_ordered():
    assert ordered(*INPUT, *saw(0, 1, 2)).holds


def test_a_record_after_a_later_one_of_its_key_fails():
    verdict = ordered(*INPUT, *saw(0, 2, 1))

    assert verdict.fails
    assert verdict.says.startswith("1 output of reader after a later one of the same key: a=1")


def test_a_record_that_is_repeated_at_once_fails():
    assert ordered(*INPUT, *saw(0, 1, 1, 2)).evidence["repeated"] == 1


def test_different_keys_have_no_order():
    lines = [
        seen("lines", "a=0", by="witness", key="x"),
        seen("lines", "a=1", by="witness", key="y"),
        seen("lines", "a=1", at=5, key="y"),
        seen("lines", "a=0", at=6, key="x"),
    ]

    assert ordered(*lines).holds


def test_without_keys_the_order_is_unknown():
    assert ordered(witnessed("lines", "a=1"), seen("lines", "a=1")).answer == "unknown"


def test_outputs_of_a_topic_are_ordered_by_their_partition():
    shuffled = keyed("a=0", "a=2", "a=1", topic="shouted")

    assert ordered(*INPUT, *shuffled, to="shouted").fails
    assert ordered(*INPUT, *keyed("a=0", "a=1", "a=2", topic="shouted"), to="shouted").holds


def test_rows_of_a_store_are_ordered_by_a_column():
    columns = ["topic", "partition", "offset", "id"]
    rows = [("lines", 0, 0, 1), ("lines", 0, 2, 2), ("lines", 0, 1, 3)]
    table = stored("archive", "select * from words", columns, *rows)

    assert ordered(*INPUT, table, to="archive", table="words", order="id").fails
    (problem,) = Ordered(topic="lines", to="archive", table="words").problems(declared(PIPELINE))
    assert problem.key == "order"


TWO_JOBS = {
    **PIPELINE,
    "kafka": {"kind": "kafka", "nodes": ["broker"], "topics": {"lines": {}, "one": {}, "two": {}}},
    "shout": {**PIPELINE["shout"], "writes": ["one"]},
    "other": {**PIPELINE["shout"], "writes": ["two"]},
}


def same(*lines):
    check = SameAs(topic="one", other="two")
    assert check.problems(declared(TWO_JOBS)) == []
    return check.judge(history_of(*lines, components=TWO_JOBS))


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


EPOCH = "to_timestamp(value::integer)"


def timed(number, offsets, *, watermark, late):
    """A batch with a watermark, in seconds, that dropped late rows."""
    told = batch("shout", number + 1, number + 2, lines=offsets)
    return replace(told, batch=number, watermark_ns=watermark * 10**9, late_rows=late)


def late(*batches, values=("100", "95", "80", "101"), **keys):
    check = LateAsDeclared(of="shout", event_time=EPOCH, delay="10s", **keys)
    assert check.problems(declared(PIPELINE)) == []
    return check.judge(history_of(log("lines", *values), *batches, components=PIPELINE))


FIRST = timed(0, (0, 1), watermark=0, late=0)


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


def test_counts_may_leave_out_records_that_are_late_by_their_event_time():
    words = log("lines", "100", "80", "101")
    dropped = [FIRST, timed(1, (1, 3), watermark=90, late=1)]
    keys = {"counts": "n", "event_time": EPOCH}

    assert equals(words, *dropped, totals(("100", 1), ("101", 1)), **keys).holds
    assert equals(words, *dropped, totals(("80", 1), ("101", 1)), **keys).fails


def test_rows_of_a_store_that_are_there_twice_are_too_many():
    verdict = equals(WORDS, totals(("be", 1), ("to", 2), ("to", 2)))

    assert verdict.fails
    assert verdict.says.endswith("to is there 2 times")


def test_an_answer_with_several_rows_for_a_key_cannot_be_compared():
    check = Equals(
        store="archive", query=QUERY, sql="select value as word, 1 as n from lines", key="word"
    )

    verdict = check.judge(history_of(WORDS, totals(("be", 1), ("to", 1)), components=PIPELINE))

    assert verdict.answer == "unknown"
    assert "several rows" in verdict.says


def test_outputs_of_a_key_in_two_partitions_have_no_order_whatever_other_topics_are_named():
    """One of three outputs names a record of another topic."""
    places = [("lines", 2, 0), ("other", 0, 1), ("lines", 1, 2)]
    outputs = []
    for number, (topic, offset, partition) in enumerate(places):
        value = f'{{"t": "{topic}", "p": 0, "o": {offset}}}'
        outputs.append(
            seen("shouted", f"x={number}", by="witness", partition=partition, offset=0, key="k")
        )
        outputs.append(kept("shouted", value, offset=0, partition=partition))
    identity = {"topic": "$.t", "partition": "$.p", "offset": "$.o"}

    assert ordered(*INPUT, *outputs, to="shouted", identity=identity).holds


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


def test_each_query_has_a_watermark_of_its_own():
    ahead = replace(timed(0, (0, 1), watermark=85, late=0), query="second")

    verdict = late(FIRST, timed(1, (1, 4), watermark=90, late=1), ahead)

    assert verdict.fails


def test_one_function_over_different_topics_has_different_answers():
    one = BatchJob(text="job.py:count", topics=("lines",))

    assert one.name != BatchJob(text="job.py:count", topics=("words",)).name
