"""Calibration finds each way of each link as it was declared, and finds out a link that is not."""

from __future__ import annotations

import pytest
from boxes import Measure
from small_plans import MS, chain, star

from streambed.plan import Shape

pytestmark = pytest.mark.kernel


def test_each_way_of_each_link_is_measured_for_itself(measure: Measure) -> None:
    found = measure(chain(2, Shape(delay_ns=20 * MS), Shape(delay_ns=5 * MS)), "calibration")

    assert {(way["source"], way["target"], way["declared_ns"] // MS) for way in found["ways"]} == {
        ("a", "switch1", 20),
        ("switch1", "a", 20),
        ("switch1", "switch2", 5),
        ("switch2", "switch1", 5),
        ("switch2", "b", 5),
        ("b", "switch2", 5),
    }
    assert all(abs(way["measured_ns"] - way["declared_ns"]) < MS for way in found["ways"]), found


def test_a_link_that_does_something_else_is_found_out(measure: Measure) -> None:
    found = measure(star(Shape(delay_ns=10 * MS)), "calibration_of_a_wrong_link")

    wrong = {
        (way["source"], way["target"]): way["measured_ns"] / MS
        for way in found["ways"]
        if way["measured_ns"] > 11 * MS
    }
    assert wrong == {
        ("a", "switch1"): pytest.approx(15, abs=4),
        ("switch1", "a"): pytest.approx(15, abs=4),
    }


def test_a_lossy_link_is_measured_by_the_packets_that_arrive_and_a_dead_one_not_at_all(
    measure: Measure,
) -> None:
    lossy, dead = (
        measure(star(Shape(delay_ns=5 * MS, loss=loss)), "calibration")["ways"][0]
        for loss in (0.3, 1.0)
    )

    assert 0 < lossy["arrived"] < lossy["probes"] == 15
    assert abs(lossy["measured_ns"] - 5 * MS) < MS
    assert (dead["probes"], dead["measured_ns"], dead["loses_all"]) == (0, None, True)


def test_a_rate_is_measured_on_demand(measure: Measure) -> None:
    found = measure(star(Shape(delay_ns=5 * MS, rate_bps=20_000_000)), "calibration_of_rates")

    rates = [way["measured_bps"] for way in found["ways"] if way["declared_bps"]]
    assert rates == [pytest.approx(20_000_000, rel=0.25)] * 2  # A busy machine fills a link late.
