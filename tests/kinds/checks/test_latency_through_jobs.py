"""The check `latency` through Spark jobs, with batches that no event reports."""

from dataclasses import replace

from streambed.kinds.checks.latency import Latency
from streambed.kinds.checks.no_loss import NoLoss
from streambed.kinds.evidence.readers import evidence_of
from streambed.plan import WITNESS
from tests.support.histories import (
    acked,
    batch,
    behind,
    history_of,
    output,
    seen,
    undrained,
)
from tests.support.latency import READER, declared, verdict_of

COUNTER = {
    "counter": {"kind": "spark_job", "node": "engine", "reads": ["lines"], "writes": ["counts"]}
}


CHAIN = {
    "counter": {"kind": "spark_job", "node": "engine", "reads": ["lines"], "writes": ["counts"]},
    "averager": {
        "kind": "spark_job",
        "node": "engine",
        "reads": ["counts"],
        "writes": ["averages"],
    },
}


def through_spark(history, job):
    """The inputs of a job that led to an output that was seen."""
    journeys = evidence_of(history, job).journeys(history)
    return journeys.drop_nulls("seen").select("topic", "partition", "offset", "due", "seen")


def test_a_consumer_of_records_that_spark_wrote_is_unknown():
    verdict = verdict_of(output("lines", offset=0, written=1, at=2), max="9s")

    assert (verdict.answer, verdict.says) == (
        "unknown",
        "reader: it got no record with a due time",
    )


def test_through_spark_counts_to_the_first_output_of_the_batch():
    inputs = [acked("lines", "a=1"), acked("lines", "a=2"), acked("lines", "a=3")]
    batches = [batch("counter", 2.5, 4, lines=(0, 3)), batch("counter", 4, 6, lines=(3, 4))]
    first = [
        output("counts", offset=0, written=3.5, at=3.8),
        output("counts", offset=1, written=3.6, at=3.7),
    ]
    history = history_of(
        *inputs, *batches, *first, output("counts", offset=2, written=5, at=8), components=COUNTER
    )

    found = through_spark(history, "counter").sort("offset")

    assert found.columns == ["topic", "partition", "offset", "due", "seen"]
    assert ((found["seen"] - found["due"]) / 1e9).round(3).to_list() == [2.7, 1.7, 5.0]


def test_a_batch_that_took_nothing_of_a_partition_does_not_hide_the_next():
    batches = [batch("counter", 2, 3, lines=(1, 1)), batch("counter", 3, 4, lines=(1, 2))]

    history = history_of(
        acked("lines", "a=1"),
        *batches,
        output("counts", offset=0, written=3.5, at=4),
        components=COUNTER,
    )

    assert through_spark(history, "counter")["offset"].to_list() == [1]


def test_outputs_outside_every_batch_belong_to_none():
    lines = [
        acked("lines", "a=1"),
        batch("counter", 2, 3, lines=(0, 2)),
        output("counts", offset=0, written=3.5, at=4),
    ]

    assert through_spark(history_of(*lines, components=COUNTER), "counter").is_empty()


def test_the_witness_does_not_count_as_somebody_who_saw_an_output():
    lines = [
        acked("lines", "a=1"),
        batch("counter", 2, 3, lines=(0, 2)),
        output("counts", offset=0, written=2.5, at=999, by=WITNESS),
    ]

    assert verdict_of(*lines, of="counter", components=COUNTER, max="9s").answer == "unknown"


def test_inputs_whose_batch_gave_no_output_are_left_out_and_those_that_no_batch_took_are_lost():
    inputs = [acked("lines", "a=1"), acked("lines", "a=2"), acked("lines", "a=3")]
    batches = [batch("counter", 2, 3, lines=(0, 2)), batch("counter", 3, 4, lines=(2, 3))]

    verdict = verdict_of(
        *inputs,
        *batches,
        output("counts", offset=0, written=2.5, at=4),
        of="counter",
        components=COUNTER,
        max="9s",
    )

    assert verdict.says == "counter max never, limit 9 s; slowest 0:03–0:03; 1 record never arrived"
    assert (verdict.evidence["without_output"], verdict.evidence["never_seen"]) == (1, 1)


def test_a_chained_job_counts_from_the_earliest_due_of_the_batch_before():
    inputs = [acked("lines", "a=1"), acked("lines", "a=2"), acked("lines", "a=5")]
    first = [batch("counter", 2.5, 4, lines=(0, 3)), batch("counter", 5, 6, lines=(3, 6))]
    between = [
        output("counts", offset=0, written=3, at=900, by=WITNESS),
        output("counts", offset=1, written=5.5, at=900, by=WITNESS),
    ]
    second = [batch("averager", 4, 5, counts=(0, 1)), batch("averager", 7, 8, counts=(1, 2))]
    last = [
        output("averages", offset=0, written=4.5, at=5),
        output("averages", offset=1, written=7.5, at=8),
    ]

    found = through_spark(
        history_of(*inputs, *first, *between, *second, *last, components=CHAIN), "averager"
    ).sort("offset")

    assert found["due"].to_list() == [1_000_000_000, 5_000_000_000]
    assert found["seen"].to_list() == [5_000_000_000, 8_000_000_000]


def test_jobs_that_write_what_they_read_end_all_the_same():
    loop = {
        "counter": {
            "kind": "spark_job",
            "node": "engine",
            "reads": ["lines"],
            "writes": ["lines", "counts"],
        }
    }
    lines = [
        acked("lines", "a=1"),
        batch("counter", 2, 3, lines=(0, 3)),
        output("lines", offset=2, written=2.5, at=3),
    ]

    assert through_spark(history_of(*lines, components=loop), "counter")["offset"].to_list() == [1]
    assert Latency(of="counter", p50="1s").witnessed(declared(loop)) == ("lines",)


def test_the_witness_reads_the_topics_between_chained_jobs():
    assert Latency(of="averager", p50="1s").witnessed(declared(CHAIN)) == ("counts",)
    assert Latency(of="counter", p50="1s").witnessed(declared(CHAIN)) == ()
    assert Latency(of="reader", p50="1s").witnessed(declared(READER)) == ()


def test_a_record_that_a_job_gave_on_with_its_header_counts_from_when_it_was_due():
    reader = {"reader": {"kind": "consumer", "node": "home", "reads": ["loud"]}}

    verdict = verdict_of(
        acked("lines", "a=1"),
        acked("lines", "a=2"),
        seen("loud", "a=1", at=4),
        components=reader,
        max="2s",
    )

    assert verdict.fails
    assert verdict.evidence["records"] == 1
    assert verdict.evidence["never_seen"] == 1


def numbered(number, start, end, **offsets):
    """A batch with the engine's own number."""
    return replace(batch("counter", start, end, **offsets), batch=number)


def around_an_unreported_batch(*outputs):
    """Batches 0 and 2 are reported, batch 1 is not: the driver died before its report."""
    inputs = [acked("lines", f"a={number}") for number in range(1, 7)]
    batches = [numbered(0, 3, 4, lines=(1, 3)), numbered(2, 16, 17, lines=(5, 7))]
    reported = [
        output("counts", offset=0, written=3.5, at=3.6),
        output("counts", offset=9, written=16.5, at=16.6),
    ]
    return [*inputs, *batches, *reported, *outputs]


def of_counter(lines, **limits):
    components = COUNTER | {"reader": {"kind": "consumer", "node": "home", "reads": ["counts"]}}
    return verdict_of(*lines, of="counter", components=components, **limits)


def test_a_batch_without_a_report_that_no_loss_counts_as_taken_is_not_lost_here():
    lines = around_an_unreported_batch(output("counts", offset=1, written=5.5, at=5.7))

    verdict = of_counter(lines, p50="4s", max="20s")

    assert NoLoss(topic="lines").judge(history_of(*lines, components=COUNTER)).holds
    assert verdict.holds
    assert (verdict.evidence["lost"], verdict.evidence["never_seen"]) == (0, 0)
    assert (verdict.evidence["records"], verdict.evidence["at_unknown_time"]) == (6, 2)
    assert verdict.says.endswith(
        "; 2 records whose batch is not known exactly counted as late as possible"
    )


def test_the_answer_is_unknown_if_it_depends_on_when_an_unreported_batch_was_seen():
    # The killed driver wrote at 5.5 s, the new one wrote the same batch again at 15 s.
    twice = [
        output("counts", offset=1, written=5.5, at=5.7),
        output("counts", offset=2, written=15, at=15.2),
    ]
    lines = around_an_unreported_batch(*twice)

    verdict = of_counter(lines, max="11.7s")

    assert verdict.answer == "unknown"
    assert verdict.says == (
        "counter: it depends on the arrival time of 2 records whose batch is not known exactly"
    )
    assert of_counter(lines, max="13s").holds
    assert of_counter(lines, max="3s").fails


def test_an_unreported_batch_of_which_no_output_was_seen_is_undecided():
    verdict = of_counter(around_an_unreported_batch(), max="30s")

    assert verdict.answer == "unknown"
    assert (verdict.evidence["lost"], verdict.evidence["undecided"]) == (0, 2)


def test_what_may_have_come_later_than_the_drain_has_no_latest_time():
    lines = around_an_unreported_batch(output("counts", offset=1, written=5.5, at=5.7))

    verdict = of_counter([*lines, undrained(behind("reader", "counts"))], max="20s")

    assert verdict.answer == "unknown"
    assert verdict.evidence["undecided"] == 2
