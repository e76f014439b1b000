"""Traces: repeatable, like real homes, and the same truth in all three versions."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway_traffic import traces
from gateway_traffic.answers import RATE_ERROR, answer, reported_traffic, true_traffic
from gateway_traffic.errors import UsageError
from gateway_traffic.records import MAXIMUM, Version
from gateway_traffic.traces import Homes, generate, records_of
from tests.support.examples import examples


@pytest.fixture(scope="module")
def week() -> pl.DataFrame:
    return generate(Homes(gateways=60, days=7, seed=5))


@pytest.fixture(scope="module")
def in_order(week: pl.DataFrame) -> pl.DataFrame:
    """The same week without copies, each gateway's records in order."""
    return week.filter(~pl.col("copy")).sort("gateway_id", "date")


def test_the_same_seed_gives_the_same_trace_and_another_another():
    homes = Homes(gateways=3, days=0.1)
    assert generate(homes).equals(generate(homes))
    assert not generate(homes).equals(generate(Homes(gateways=3, days=0.1, seed=2)))


def test_a_gateway_does_not_depend_on_how_many_others_there_are():
    few, many = generate(Homes(gateways=2, days=0.2)), generate(Homes(gateways=20, days=0.2))
    assert few.equals(many.filter(pl.col("gateway_id").is_in(["gw-000000", "gw-000001"])))


def test_records_come_about_once_a_minute_but_not_exactly(in_order):
    steps_s = in_order.select(((pl.col("date") - pl.col("since")) / 1000).alias("s")).filter(
        pl.col("s") > 0
    )["s"]
    assert 58 < steps_s.median() < 62
    assert steps_s.std() > 1
    assert steps_s.max() > 900, "there are gaps"
    assert steps_s.max() <= traces.GAP_MAX_S + 120


def test_evenings_and_weekends_are_busy(in_order):
    hour, weekday = pl.from_epoch("date", "ms").dt.hour(), pl.from_epoch("date", "ms").dt.weekday()
    sums = in_order.select(
        pl.col("rx").filter(hour == h).sum().alias(str(h)) for h in (4, 9, 21)
    ).row(0)
    assert sums[0] < sums[1] < sums[2]
    days = in_order.group_by(weekday.alias("d")).agg(pl.col("rx").sum()).sort("d")["rx"]
    assert days[5:].mean() > days[:5].mean()


def test_a_few_homes_have_most_of_the_traffic(in_order):
    homes = in_order.group_by("gateway_id").agg(pl.col("rx").sum())["rx"].sort(descending=True)
    assert homes[:6].sum() > 0.25 * homes.sum()
    assert homes[0] > 5 * homes.median()


def test_there_are_restarts_wraps_late_records_and_copies(week, in_order):
    rows = in_order.with_columns(
        fell=pl.col("counter_rx").diff().over("gateway_id") < 0,
        booted=pl.col("restarts").diff().over("gateway_id") > 0,
    )
    assert rows["booted"].sum() > 20
    assert rows.filter(pl.col("fell") & ~pl.col("booted")).height > 3, "counters wrap"
    assert rows["counter_rx"].max() < MAXIMUM
    late = (week["due"] - week["date"] > 60_000).mean()
    assert 0.005 < late < 0.02
    assert 0.003 < week["copy"].mean() < 0.008
    assert week["due"].is_sorted()


@settings(max_examples=examples(25))
@given(
    homes=st.builds(
        Homes,
        gateways=st.integers(1, 4),
        days=st.floats(0.01, 2),
        seed=st.integers(0, 10**6),
        interval_s=st.floats(30, 600),
        gaps_per_day=st.floats(0, 50),
        restarts_per_day=st.floats(0, 50),
        late=st.floats(0, 1),
        duplicates=st.floats(0, 1),
        wraps=st.floats(0, 1),
    ),
    schema=st.sampled_from([1, 2]),
)
def test_without_loss_all_three_versions_tell_the_truth(homes, schema):
    trace = generate(homes)
    truth = answer(true_traffic(trace)).totals
    for version in Version:
        records = records_of(trace, version)
        if schema == 1 and version is Version.CUMULATIVE:
            if homes.restarts_per_day:
                continue  # Only schema 2 can tell every restart.
            records = records.with_columns(restarts=pl.lit(-1, pl.Int32))
        told = answer(reported_traffic(version, records)).totals
        assert told.select("gateway_id", "day").equals(truth.select("gateway_id", "day"))
        bound = RATE_ERROR if version is Version.RATE else 0.0
        for name in ("tx", "rx"):
            assert ((told[name] - truth[name]).abs() <= bound * truth[name]).all(), version


def test_a_trace_is_kept_with_what_was_asked(tmp_path):
    homes = Homes(gateways=2, days=0.05, seed=9)
    trace = generate(homes)
    traces.write(trace, tmp_path / "trace.parquet", homes)
    assert traces.read(tmp_path / "trace.parquet").equals(trace)
    assert '"seed": 9' in pl.read_parquet_metadata(tmp_path / "trace.parquet")["homes"]


def test_another_file_is_no_trace(tmp_path):
    (tmp_path / "text").write_text("no")
    pl.DataFrame({"a": [1]}).write_parquet(tmp_path / "other.parquet")
    with pytest.raises(UsageError, match="cannot be read as a trace"):
        traces.read(tmp_path / "text")
    with pytest.raises(UsageError, match="is no trace: it has no column gateway_id"):
        traces.read(tmp_path / "other.parquet")


@pytest.mark.parametrize(
    "wrong",
    [{"gateways": 0}, {"days": 0}, {"late": 1.5}, {"start": "Monday"}, {"gaps_per_day": -1}],
)
def test_an_impossible_trace_is_refused(wrong):
    with pytest.raises(UsageError):
        Homes(**wrong)
