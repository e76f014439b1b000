"""The check `latency` where packets were late or links are not as declared."""

from dataclasses import asdict, replace

import polars as pl

from streambed.kinds.checks.latency import Latency
from streambed.record.calibration import LinkCalibration
from streambed.record.history import empty
from streambed.record.ledger import schemas
from tests.support.histories import (
    acked,
    event,
    history_of,
    ns,
    seen,
)
from tests.support.latency import READER


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
