"""How drawn delays spread around their mean."""

from __future__ import annotations

from statistics import fmean, median, pstdev

import pytest

from streambed.kinds.delay_table import (
    ENTRIES,
    ENTRIES_MAX,
    ENTRY_MAX,
    PARTS,
    Spread,
    spread,
    thin_out,
)

MS = 1_000_000


def drawn_ns(deviations: Spread) -> list[float]:
    return [deviations.width_ns * entry / PARTS for entry in deviations.table]


@pytest.mark.parametrize("distribution", ["normal", "pareto"])
def test_jitter_is_the_standard_deviation_and_the_mean_is_not_moved(distribution: str) -> None:
    delays_ns = drawn_ns(spread(distribution, 10 * MS))

    assert abs(fmean(delays_ns)) < MS / 1000
    assert pstdev(delays_ns) == pytest.approx(10 * MS, rel=1e-4)


def test_a_uniform_spread_needs_no_table() -> None:
    deviations = spread("uniform", 5)

    assert (deviations.width_ns, deviations.table, deviations.least_ns, deviations.most_ns) == (
        5,
        (),
        -5,
        5,
    )


def test_a_normal_spread_is_even_to_both_sides_and_ends_before_four_deviations() -> None:
    deviations = spread("normal", 10 * MS)

    assert deviations.least_ns == -deviations.most_ns
    assert 35 * MS < deviations.most_ns < 40 * MS


def test_a_pareto_spread_has_a_sharp_start_and_a_long_tail() -> None:
    deviations = spread("pareto", 10 * MS)

    assert -7 * MS < deviations.least_ns < -5 * MS
    assert deviations.most_ns > 200 * MS
    assert median(drawn_ns(deviations)) < 0


def test_samples_are_drawn_as_they_are() -> None:
    samples = (1 * MS, 2 * MS, 3 * MS, 50 * MS)
    deviations = spread("samples", 0, samples)

    assert [round((14 * MS + deviation) / MS, 2) for deviation in drawn_ns(deviations)] == [
        1,
        2,
        3,
        50,
    ]


def test_entries_fit_into_16_bits_however_far_out_a_sample_lies() -> None:
    deviations = spread("samples", 0, (0,) * 10_000 + (10_000 * MS,))

    assert max(deviations.table) <= ENTRY_MAX
    assert deviations.most_ns == pytest.approx(9_999 * MS, rel=1e-3)


@pytest.mark.parametrize(
    "found", [spread("samples", 0, (MS, MS)), spread("normal", 0), spread("uniform", 0)]
)
def test_where_nothing_varies_nothing_is_drawn(found: Spread) -> None:
    assert found == Spread()


def test_too_many_samples_for_a_table_become_its_quantiles() -> None:
    many = range(ENTRIES * 100)
    quantiles = thin_out(many)

    assert len(quantiles) == ENTRIES
    assert (quantiles[0], quantiles[-1]) == (50, ENTRIES * 100 - 50)
    assert len(thin_out(range(ENTRIES_MAX))) == ENTRIES_MAX
