"""The check `equals`: a store has the answer of the log, by SQL or by a batch job."""

from dataclasses import replace

import pytest
from pydantic import ValidationError

from streambed.kinds.checks import Equals
from streambed.record.ledger.stored_rows import BatchJob
from tests.support.contents import EPOCH, FIRST, log, timed
from tests.support.histories import (
    batch,
    behind,
    history_of,
    stored,
    undrained,
    witnessed,
)
from tests.support.pipelines import PIPELINE, declared

QUERY = "select word, n from totals"


SQL = "select value as word, count(*) as n from lines group by value"


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


def test_one_function_over_different_topics_has_different_answers():
    one = BatchJob(text="job.py:count", topics=("lines",))

    assert one.name != BatchJob(text="job.py:count", topics=("words",)).name


@pytest.mark.parametrize(
    ("keys", "key", "says"),
    [
        ({"key": "wrod"}, "key", "the answer of `sql` has no column 'wrod'. Did you mean 'word'?"),
        ({"counts": "m"}, "counts", "the answer of `sql` has no column 'm'."),
    ],
)
def test_columns_that_the_answer_does_not_have_are_refused(keys, key, says):
    check = Equals(**({"store": "archive", "query": QUERY, "sql": SQL, "key": "word"} | keys))

    (problem,) = check.problems(declared(PIPELINE))

    assert problem.key == key
    assert problem.says.startswith(says)
