"""Statistics against textbook values and against what is known of drawn numbers."""

import numpy as np
import polars as pl
import pytest

from streambed.kinds.checks.latency import SHARES
from streambed.record.statistics import (
    BLOCKS_MIN,
    Observations,
    difference_of,
    share_interval,
    statistic_of,
    student,
    summary_of,
)


@pytest.mark.parametrize(
    ("freedom", "expected"),
    [(1, 12.7062), (2, 4.3027), (4, 2.7764), (9, 2.2622), (29, 2.0452), (1000, 1.9623)],
)
def test_the_quantiles_of_student_are_those_of_the_textbook(freedom, expected):
    assert student(freedom) == pytest.approx(expected, abs=1e-4)


def test_a_summary_is_the_mean_with_its_interval_by_student():
    summary = summary_of([10.0, 12.0, 14.0])

    assert (summary.count, summary.mean, summary.deviation) == (3, 12.0, 2.0)
    assert (summary.low, summary.high) == (
        pytest.approx(12 - 4.9683, abs=1e-3),
        pytest.approx(12 + 4.9683, abs=1e-3),
    )
    assert summary.method == "Student t, 2 degrees of freedom"


def test_one_value_has_no_interval():
    summary = summary_of([10.0])

    assert (summary.low, summary.high, summary.deviation) == (None, None, None)
    assert summary.method == "none: one value shows no spread"


@pytest.mark.parametrize(
    ("statistic", "expected"),
    [("mean", 2.5), ("sum", 10.0), ("p50", 3.0), ("p99", 4.0), ("max", 4.0)],
)
def test_between_two_values_a_percentile_is_the_higher_one(statistic, expected):
    assert statistic_of(statistic, np.array([4.0, 1.0, 3.0, 2.0])) == expected


def test_percentiles_are_counted_as_checks_count_them():
    values = np.random.default_rng(3).normal(size=1234)

    for name, share in SHARES.items():
        assert statistic_of(name, values) == pl.Series(values).quantile(share, "higher")


def run_of(mean: float, seed: int, *, blocks: int = 30, shared: float = 0.0) -> Observations:
    """A hundred values in each block, whose values have a part in common."""
    draw = np.random.default_rng(seed)
    common = draw.normal(0, shared, blocks).repeat(100) if shared else 0.0
    return Observations(
        values=draw.normal(mean, 1.0, blocks * 100) + common, blocks=np.arange(blocks).repeat(100)
    )


@pytest.mark.parametrize("statistic", ["mean", "p50", "p99"])
def test_a_true_difference_is_clear_and_within_its_interval(statistic):
    difference = difference_of(statistic, run_of(10, 1), run_of(11, 2))

    assert difference.clear
    assert difference.low < 1.0 < difference.high
    assert difference.chance < 0.01


def test_two_equal_runs_differ_by_chance_only():
    difference = difference_of("p50", run_of(10, 1), run_of(10, 2))

    assert not difference.clear
    assert difference.chance > 0.05


def test_values_that_move_together_within_a_block_do_not_feign_certainty():
    alone = difference_of("mean", run_of(10, 1), run_of(10, 2))
    together = difference_of("mean", run_of(10, 1, shared=2.0), run_of(10, 2, shared=2.0))

    assert together.high - together.low > 5 * (alone.high - alone.low)


def test_too_few_blocks_give_no_interval():
    compared = difference_of("mean", run_of(10, 1, blocks=BLOCKS_MIN - 1), run_of(11, 2))

    assert (compared.low, compared.high, compared.chance, compared.clear) == (
        None,
        None,
        None,
        False,
    )
    assert compared.difference == pytest.approx(1.0, abs=0.2)


def test_the_same_records_give_the_same_answer():
    assert difference_of("p99", run_of(10, 1), run_of(11, 2)) == difference_of(
        "p99", run_of(10, 1), run_of(11, 2)
    )


def test_sums_of_rare_things_are_compared_by_block():
    none = Observations(values=np.zeros(300), blocks=np.arange(300) // 10)
    some = Observations(
        values=(np.arange(300) % 10 == 0).astype(float), blocks=np.arange(300) // 10
    )

    difference = difference_of("sum", none, some)

    assert (difference.a, difference.b, difference.clear) == (0.0, 30.0, True)


@pytest.mark.parametrize(
    ("count", "total", "low", "high"),
    [(0, 10, 0.0, 0.3085), (30, 30, 0.8843, 1.0), (5, 10, 0.1871, 0.8129), (5, 5, 0.4782, 1.0)],
)
def test_the_interval_of_a_share_is_that_of_clopper_and_pearson(count, total, low, high):
    assert share_interval(count, total) == pytest.approx((low, high), abs=5e-5)
