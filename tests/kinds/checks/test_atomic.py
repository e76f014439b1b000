from dataclasses import replace

from streambed.kinds.checks import Atomic
from tests.support.histories import batch, history_of, probed
from tests.support.pipelines import PIPELINE, declared

QUERY = "select batch, count(*) from words group by batch"


def writing(start, end):
    """A batch that is written all the time."""
    told = batch("shout", start, end, lines=(0, 5))
    return replace(told, rows=5, durations_ms={"addBatch": (end - start) * 1000})


def judged(*lines, reads=2):
    check = Atomic(of="shout", store="archive", query=QUERY, reads=reads)
    assert check.problems(declared(PIPELINE)) == []
    return check.judge(history_of(*lines, components=PIPELINE))


def read(at, name, rows):
    return probed("archive", QUERY, at, name, rows)


def test_batches_that_appear_at_once_are_atomic_if_enough_reads_fell_into_their_writing():
    lines = [writing(1, 3), read(1.2, None, 0), read(2.5, None, 0), read(4, "0", 5)]

    assert judged(*lines).holds
    few = judged(*lines, reads=3)
    assert few.answer == "unknown"
    assert few.says.endswith("too few to tell, 3 are needed")


def test_a_batch_that_was_seen_in_part_fails():
    verdict = judged(writing(1, 3), read(2, "0", 2), read(4, "0", 5))

    assert verdict.fails
    assert verdict.evidence["torn"] == ["0"]


def test_a_batch_that_doubled_may_have_been_whole():
    verdict = judged(writing(1, 3), read(2, "0", 5), read(2.5, "0", 5), read(4, "0", 10))

    assert verdict.answer == "unknown"


def test_a_store_that_was_never_read_is_unknown():
    assert judged(writing(1, 3)).answer == "unknown"
    assert judged(writing(1, 3), read(2, None, 0)).answer == "unknown"


def test_the_job_and_the_store_must_be_declared():
    check = Atomic(of="shuot", store="archiv", query=QUERY)

    keys = [problem.key for problem in check.problems(declared(PIPELINE))]

    assert keys == ["of", "store"]
