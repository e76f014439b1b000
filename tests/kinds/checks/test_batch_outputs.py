"""Outputs of a Spark job are matched to its batches by what they name, or by where topics ended."""

from __future__ import annotations

from dataclasses import replace

from streambed.kinds.checks.latency import Latency
from streambed.kinds.checks.no_loss import NoLoss
from streambed.record.events import Batch, BatchCommitted, BatchPlanned
from tests.support.histories import acked, batch, history_of, ns, output, seen

COMPONENTS = {
    "counter": {"kind": "spark_job", "node": "engine", "reads": ["lines"], "writes": ["counts"]},
    "reader": {"kind": "consumer", "node": "home", "reads": ["counts"]},
}
INPUTS = [acked("lines", f"a={number}") for number in range(1, 5)]


def numbered(number: int, start: float, end: float, first: int, past: int, query="q") -> Batch:
    report = batch("counter", start, end, lines=(first, past))
    return replace(report, batch=number, query=query, query_id=query)


def planned(number: int, at: float, query: str = "q") -> BatchPlanned:
    return BatchPlanned(
        time=ns(at), written=ns(at), component="counter", query_id=query, batch=number
    )


def committed(
    number: int, at: float, end: int, *, exact: bool = True, query: str = "q"
) -> BatchCommitted:
    return BatchCommitted(
        time=ns(at),
        written=ns(at),
        component="counter",
        query_id=query,
        batch=number,
        ends={"counts": {0: end}},
        exact=exact,
    )


def judge(*lines, **limits):
    history = history_of(*INPUTS, *lines, components=COMPONENTS)
    return Latency(of="counter", **limits).judge(history)


TWO_BATCHES = [
    planned(0, 4.0),
    numbered(0, 4, 5, 1, 3),
    planned(1, 5.1),
    numbered(1, 5.1, 6, 3, 5),
    # What Kafka's clock says of them is wrong: a skewed executor stamped them.
    output("counts", offset=0, written=900, at=5.5),
    output("counts", offset=1, written=900, at=6.5),
]


def test_an_output_belongs_to_the_batch_at_whose_commit_its_topic_ended_after_it():
    verdict = judge(*TWO_BATCHES, committed(0, 5, 1), committed(1, 6, 2), max="5s")

    assert verdict.holds
    assert verdict.evidence["max_ns"] == ns(5.5 - 1)
    assert verdict.evidence["at_unknown_time"] == 0


def test_where_ends_are_not_exact_the_time_of_an_output_is_an_interval():
    late_question = committed(0, 5, 2, exact=False)

    undecided = judge(*TWO_BATCHES, late_question, committed(1, 6, 2), max="5s")

    # Each batch wrote one of the outputs, and nobody knows which: at 5.5 s or at 6.5 s.
    assert undecided.evidence["at_unknown_time"] == 4
    assert judge(*TWO_BATCHES, late_question, committed(1, 6, 2), max="6s").holds
    assert judge(*TWO_BATCHES, late_question, committed(1, 6, 2), max="2s").fails


def test_a_batch_that_was_planned_after_an_output_was_seen_did_not_write_it():
    lines = [planned(0, 4.0), numbered(0, 4, 5, 1, 5), output("counts", offset=0, at=5.5)]

    verdict = judge(
        *lines,
        committed(0, 5, 1, exact=False),
        planned(1, 7),
        numbered(1, 7, 8, 5, 5),
        committed(1, 8, 1),
        max="5s",
    )

    assert verdict.holds
    assert verdict.evidence["at_unknown_time"] == 0


def test_outputs_that_two_queries_may_have_written_have_an_interval():
    other = [
        planned(0, 4.0, "p"),
        numbered(0, 4, 5.2, 1, 5, "p"),
        committed(0, 5.2, 2, query="p"),
    ]

    verdict = judge(*TWO_BATCHES, *other, committed(0, 5, 1), committed(1, 6, 2), max="9s")

    assert verdict.holds
    assert verdict.evidence["at_unknown_time"] > 0


def test_outputs_that_name_their_inputs_need_no_ends():
    named = [
        seen("counts", f"a={number}", by="reader", at=number + 3, offset=number)
        for number in range(1, 5)
    ]

    verdict = judge(numbered(0, 4, 5, 1, 5), *named, max="4s")

    assert verdict.holds
    assert verdict.evidence["records"] == 4
    assert verdict.evidence["max_ns"] == ns(3)


def test_a_batch_that_read_fewer_rows_than_its_range_has_proves_nothing_of_them():
    short = replace(numbered(0, 4, 5, 1, 5), rows=2)

    verdict = NoLoss(topic="lines").judge(history_of(*INPUTS, short, components=COMPONENTS))

    assert verdict.answer == "unknown"
    assert "read fewer rows" in verdict.says


def test_a_query_whose_checkpoint_was_lost_leaves_no_gap_that_counts_as_taken():
    first = numbered(0, 2, 3, 1, 2, "before")
    second = numbered(2, 5, 6, 4, 5, "after")

    named = [replace(one, query="words") for one in (first, second)]
    verdict = NoLoss(topic="lines").judge(history_of(*INPUTS, *named, components=COMPONENTS))

    assert verdict.fails
