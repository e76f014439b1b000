"""The check `latency`: limits, percentiles, phases and the warm-up."""

from dataclasses import replace

import pytest
from pydantic import ValidationError

from streambed.kinds.checks.latency import Latency
from streambed.units import Duration, shown
from tests.support.histories import (
    acked,
    heal,
    history_of,
    inject,
    seen,
)
from tests.support.latency import READER, declared, verdict_of


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


def test_a_component_that_does_not_exist_or_is_incomplete_is_a_problem():
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
