from dataclasses import asdict, replace

import polars as pl
import pytest
from pydantic import ValidationError

from streambed.kinds.checks.latency import Latency
from streambed.kinds.checks.no_loss import NoLoss
from streambed.kinds.declared_parts import components_of
from streambed.kinds.evidence.readers import evidence_of
from streambed.plan import WITNESS
from streambed.record.calibration import LinkCalibration
from streambed.record.history import History, empty
from streambed.record.ledger import schemas
from streambed.units import Duration, shown
from tests.support.histories import (
    acked,
    batch,
    behind,
    event,
    heal,
    history_of,
    inject,
    ns,
    output,
    seen,
    sent,
    undrained,
    whole,
)

READER = {"reader": {"kind": "consumer", "node": "home", "reads": ["lines"]}}
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


def declared(components):
    return components_of({"components": whole(components)})


def verdict_of(*lines, of="reader", components=READER, broken=False, **limits):
    return Latency(of=of, **limits).judge(history_of(*lines, components=components, broken=broken))


def test_a_latency_needs_a_limit():
    with pytest.raises(ValidationError, match="at least one limit"):
        Latency(of="reader")


def test_latency_counts_from_due_to_first_seen():
    lines = [acked("lines", "a=1"), seen("lines", "a=1", at=1.5), seen("lines", "a=1", at=9)]

    verdict = verdict_of(*lines, max="2s")

    assert verdict.holds
    assert verdict.says == "reader p50 500 ms, p99 500 ms, max 500 ms over 1 record; limit max 2 s"


def test_another_consumer_does_not_make_it_faster():
    assert verdict_of(
        acked("lines", "a=1"),
        seen("lines", "a=1", at=9),
        seen("lines", "a=1", by="other", at=1.5),
        max="2s",
    ).fails


def test_each_group_of_a_consumer_on_many_hosts_counts():
    everywhere = {
        "reader": {"kind": "consumer", "nodes": ["h1", "h2"], "share": False, "reads": ["lines"]}
    }
    lines = [
        acked("lines", "a=1"),
        seen("lines", "a=1", at=1.2, by="reader/h1"),
        seen("lines", "a=1", at=1.9, by="reader/h2"),
    ]

    assert verdict_of(*lines, components=everywhere, max="1s").says.startswith(
        "reader p50 900 ms, p99 900 ms, max 900 ms over 2 records"
    )


def test_a_broken_limit_says_when_and_during_which_fault():
    quick = [
        line
        for number in (1, 50, 100)
        for line in (acked("lines", f"a={number}"), seen("lines", f"a={number}"))
    ]
    slow = [
        line
        for number in (52, 53)
        for line in (acked("lines", f"a={number}"), seen("lines", f"a={number}", at=64))
    ]

    verdict = verdict_of(*quick, *slow, inject(52, "partition"), heal(63, "partition"), p99="2s")

    assert verdict.says == "reader p99 12 s, limit 2 s; slowest 0:52–1:04 (overlaps partition)"
    assert verdict.evidence["worst"] == {"start_s": 52.0, "end_s": 64.0, "during": "partition"}


def test_each_broken_limit_is_named_and_a_kept_one_is_not():
    verdict = verdict_of(
        acked("lines", "a=1"), seen("lines", "a=1", at=2.5), p50="1s", p99="1.2s", max="5s"
    )

    assert verdict.says == "reader p50 1.5 s, limit 1 s, p99 1.5 s, limit 1.2 s; slowest 0:01–0:02"


def minute_with_a_kill():
    """A record each second from 1 to 60, seen half a second later; those of the kill, 20 to 29, 5 s
    later.
    """
    slow = range(20, 30)
    lines = [inject(20, "kill", "broker"), heal(29.5, "kill", "broker")]
    for number in range(1, 61):
        latency = 5 if number in slow else 0.5
        lines += [
            acked("lines", f"a={number}"),
            seen("lines", f"a={number}", at=number + latency),
        ]
    return lines


@pytest.mark.parametrize(
    ("during", "records", "answer"),
    [
        ("", 60, "fails"),
        ("before", 19, "holds"),
        ("faults", 10, "fails"),
        ("kill", 10, "fails"),
        ("after", 31, "holds"),
        ("calm", 50, "holds"),
    ],
)
def test_a_limit_can_be_for_one_phase_of_the_load(during, records, answer):
    verdict = verdict_of(*minute_with_a_kill(), max="1s", during=during)

    assert verdict.answer == answer
    assert verdict.evidence["records"] == records


def test_the_verdict_and_its_evidence_name_the_phase():
    verdict = verdict_of(*minute_with_a_kill(), p95="1s", during="kill")

    assert verdict.says == (
        "reader during kill p95 5 s, limit 1 s; slowest 0:20–0:34 (overlaps kill)"
    )
    assert verdict.evidence["during"] == "kill"
    assert verdict.evidence["not_counted"] == 50
    assert Latency(of="reader", max="1s", during="kill").about == "reader:kill"


def test_a_phase_that_never_came_is_unknown():
    verdict = verdict_of(*minute_with_a_kill(), max="1s", during="cut")

    assert verdict.answer == "unknown"
    assert verdict.says == "reader during cut: no record was due then"


def test_records_of_the_warm_up_do_not_count():
    # The load of these histories begins at second 0.
    lines = [acked("lines", "a=1"), seen("lines", "a=1", at=9)]
    lines += [acked("lines", "a=5"), seen("lines", "a=5", at=5.5)]

    verdict = verdict_of(*lines, max="1s", warm_up="3s")

    assert verdict.holds
    assert verdict.evidence["records"] == 1
    assert verdict.evidence["warm_up_s"] == 3.0
    assert verdict.evidence["not_counted"] == 1


def test_the_warm_up_of_the_experiment_counts_unless_the_check_has_its_own():
    lines = [acked("lines", "a=1"), seen("lines", "a=1", at=9)]
    lines += [acked("lines", "a=5"), seen("lines", "a=5", at=5.5)]
    history = history_of(*lines, components=READER)
    history = replace(history, warm_up=Duration.parse("3s"))

    assert Latency(of="reader", max="1s").judge(history).holds
    assert Latency(of="reader", max="1s", warm_up="0s").judge(history).fails


def test_a_percentile_is_the_latency_of_the_record_at_that_share():
    lines = []
    for number in range(1, 1001):
        lines += [
            acked("lines", f"a={number}"),
            seen("lines", f"a={number}", at=number + number / 1e3),
        ]

    evidence = verdict_of(*lines, max="2s").evidence

    names = ("p50", "p90", "p95", "p99", "p999", "max")
    measured_ms = [round(evidence[f"{name}_ns"] / 1e6) for name in names]
    assert measured_ms == [501, 901, 951, 991, 1000, 1000]


def test_a_declared_percentile_is_shown_beside_the_usual_ones():
    lines = [acked("lines", "a=1"), seen("lines", "a=1", at=1.5)]

    assert verdict_of(*lines, p999="2s").says == (
        "reader p50 500 ms, p99 500 ms, p999 500 ms, max 500 ms over 1 record; limit p999 2 s"
    )


def test_the_median_can_hold_where_the_maximum_fails():
    lines = [
        line
        for number in (1, 2, 3)
        for line in (acked("lines", f"a={number}"), seen("lines", f"a={number}"))
    ]
    slow = (acked("lines", "a=4"), seen("lines", "a=4", at=40))

    assert verdict_of(*lines, *slow, p50="1s").holds
    assert verdict_of(*lines, *slow, max="1s").fails


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


def test_a_declaration_is_told_of_a_component_that_does_not_exist_or_says_too_little():
    components = declared(
        READER | {"counter": {"kind": "spark_job", "node": "engine", "reads": ["lines"]}}
    )

    assert Latency(of="reader", p50="1s").problems(components) == []
    assert "Did you mean 'counter'?" in Latency(of="conuter", p50="1s").problems(components)[0].says
    assert Latency(of="counter", p50="1s").problems(components)[0].says == (
        "latency needs a topic in `writes`, and 'counter' has none: declare it"
    )


@pytest.mark.parametrize(
    ("span_ns", "text"), [(3_104_000_000, "3.1 s"), (2_000_000_000, "2 s"), (240_000_000, "240 ms")]
)
def test_spans_are_shown_with_three_digits(span_ns, text):
    assert shown(span_ns) == text


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


def doubtful(start, end):
    """A second or more in which the delay line gave no sign of life."""
    late = [
        (ns(second), metric, "delay line", 0.0)
        for second in (start, end)
        for metric in ("delay_line_late_mean_ns", "delay_line_late_max_ns")
    ]
    return pl.DataFrame(late, schema=empty(schemas.SAMPLES).schema, orient="row")


def verdict_in_doubt(*lines, start, end, **limits):
    history = history_of(event(0, "calibration", links=1), *lines, components=READER)
    return Latency(of="reader", **limits).judge(replace(history, samples=doubtful(start, end)))


def test_a_limit_broken_only_by_records_of_doubtful_time_is_unknown():
    lines = (
        acked("lines", "a=1"),
        seen("lines", "a=1", at=1.1),
        acked("lines", "a=20"),
        seen("lines", "a=20", at=25),
    )

    verdict = verdict_in_doubt(*lines, start=20, end=24, max="1s")

    assert verdict.answer == "unknown"
    assert verdict.says.startswith(
        "the answer depends on the 1 record sent while timing was off; with them: reader "
        "max 5 s, limit 1 s"
    )


def test_a_limit_broken_by_other_records_too_fails():
    lines = (
        acked("lines", "a=1"),
        seen("lines", "a=1", at=3),
        acked("lines", "a=20"),
        seen("lines", "a=20", at=25),
    )

    verdict = verdict_in_doubt(*lines, start=20, end=24, max="1s")

    assert verdict.fails
    assert verdict.says.endswith("; still fails without the 1 record sent while timing was off")


def test_a_limit_that_was_kept_although_packets_were_late_holds():
    lines = acked("lines", "a=20"), seen("lines", "a=20", at=20.1)

    verdict = verdict_in_doubt(*lines, start=20, end=24, max="1s")

    assert verdict.holds
    assert "doubt" not in verdict.says


def test_a_limit_that_was_kept_by_a_link_that_is_not_as_declared_is_unknown():
    way = LinkCalibration(
        link="",
        source="edge",
        target="core",
        declared_ns=ns(1),
        measured_ns=ns(0.1),
        probes=10,
        arrived=10,
    )
    lines = (
        event(0, "calibrated", ways=[asdict(way)]),
        acked("lines", "a=20"),
        seen("lines", "a=20", at=20.1),
    )

    assert verdict_in_doubt(*lines, start=30, end=31, max="1s").answer == "unknown"


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
        "; 2 records of a batch without a progress report counted as late as possible"
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
        "counter: it depends on the arrival time of 2 records of a batch without a progress report"
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
