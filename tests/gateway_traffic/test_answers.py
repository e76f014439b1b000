"""Answers: what a set of records says, by hand."""

from __future__ import annotations

import polars as pl
import pytest

from gateway_traffic.answers import acked, answer, reported_traffic
from gateway_traffic.records import DAY_MS, MAXIMUM, Version
from gateway_traffic.traces import Homes, generate


def records(*rows: tuple[str, int, float, float, int]) -> pl.DataFrame:
    return pl.DataFrame(
        rows, schema=["gateway_id", "date", "ipTx", "ipRx", "restarts"], orient="row"
    )


def sent(version: Version, *rows: tuple[str, int, float, float, int]) -> list[float]:
    """tx of each record, by gateway and date."""
    return reported_traffic(version, records(*rows))["tx"].to_list()


@pytest.mark.parametrize(
    ("before", "after", "traffic"),
    [
        ((100.0, 4), (150.0, 4), 50.0),
        ((MAXIMUM - 10, 4), (5.0, 4), 15.0),
        ((100.0, 4), (90.0, 4), MAXIMUM - 10),
        ((100.0, 4), (90.0, 5), 90.0),
        ((100.0, 4), (150.0, 5), 150.0),
        ((MAXIMUM - 10, -1), (5.0, -1), 15.0),
        ((100.0, -1), (90.0, -1), 90.0),
        ((100.0, -1), (150.0, 7), 50.0),
        ((100.0, 7), (90.0, -1), 90.0),
    ],
    ids=[
        "rise",
        "wrap",
        "a fall without a restart is a wrap however long",
        "restart",
        "restart that rose past the old value",
        "schema 1: short way round is a wrap",
        "schema 1: long way round is a restart",
        "mixed: a rise",
        "mixed: a restart",
    ],
)  # fmt: skip
def test_a_counter_wrap_is_distinguished_from_a_restart(before, after, traffic):
    rows = [("a", 1000, before[0], 0.0, before[1]), ("a", 2000, after[0], 0.0, after[1])]
    assert sent(Version.CUMULATIVE, *rows) == [0.0, traffic]


def test_records_count_once_and_in_the_order_of_their_dates():
    late = [
        ("a", 3000, 30.0, 0.0, 0),
        ("a", 1000, 10.0, 0.0, 0),
        ("a", 2000, 15.0, 0.0, 0),
        ("a", 2000, 15.0, 0.0, 0),
    ]
    assert sent(Version.CUMULATIVE, *late) == [0.0, 5.0, 15.0]
    assert sent(Version.COUNTER, *late) == [10.0, 15.0, 30.0]
    assert sent(Version.RATE, *late) == [0.0, 15.0, 30.0]


def test_a_lost_record_costs_counter_its_bytes_and_cumulative_nothing():
    truth = [("a", 1000, 10.0, 0.0, 0), ("a", 2000, 15.0, 0.0, 0), ("a", 3000, 30.0, 0.0, 0)]
    assert sum(sent(Version.CUMULATIVE, truth[0], truth[2])) == sum(
        sent(Version.CUMULATIVE, *truth)
    )
    assert sum(sent(Version.COUNTER, truth[0], truth[2])) == 40.0
    assert sum(sent(Version.RATE, truth[0], truth[2])) == 60.0, (
        "the rate of the last second is taken for both"
    )


def test_traffic_belongs_to_the_day_of_its_record_and_ties_go_by_name():
    rows = [(f"g{number:02}", DAY_MS + 1, 5.0, float(number), 0) for number in range(12)] + [
        ("g00", DAY_MS - 1, 7.0, 1.0, 0)
    ]

    totals = answer(reported_traffic(Version.COUNTER, records(*rows)))

    assert totals.days.rows() == [(0, 7.0, 1.0), (1, 60.0, 66.0)]
    assert totals.top_sent.rows()[:3] == [
        (0, 1, "g00", 7.0),
        (1, 1, "g00", 5.0),
        (1, 2, "g01", 5.0),
    ]
    assert totals.top_received.filter(pl.col("day") == 1)["gateway_id"].to_list() == [
        f"g{number:02}" for number in range(11, 1, -1)
    ]


def test_the_answer_for_what_was_acked_needs_trace_and_ledger():
    trace = generate(Homes(gateways=2, days=0.02, duplicates=0.5))
    ledger = trace.select(
        "gateway_id", "date", pl.when(pl.col("gateway_id") == "gw-000001").then(1).alias("acked")
    )
    known = acked(trace, ledger, Version.COUNTER)
    assert known["gateway_id"].unique().to_list() == ["gw-000001"]
    assert known.columns == ["gateway_id", "date", "ipTx", "ipRx", "restarts", "due"]
