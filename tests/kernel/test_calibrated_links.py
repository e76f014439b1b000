"""Calibration measures each direction of each link, and detects a link that is not as declared."""

from __future__ import annotations

import pytest

from streambed.plan import Shape
from streambed.record.calibration import LATE_NS, RATE_SHARE
from tests.support.kernel.boxes import Measure
from tests.support.small_plans import MS, chain, star

pytestmark = pytest.mark.kernel


def test_each_way_of_each_link_is_measured_for_itself(measure: Measure) -> None:
    plan = chain(2, Shape(delay_ns=20 * MS), Shape(delay_ns=5 * MS))

    ways = measure(plan, "calibration")["ways"]

    assert {(way["source"], way["target"], way["declared_ns"] // MS) for way in ways} == {
        ("a", "switch1", 20),
        ("switch1", "a", 20),
        ("switch1", "switch2", 5),
        ("switch2", "switch1", 5),
        ("switch2", "b", 5),
        ("b", "switch2", 5),
    }
    errors_ns = [abs(way["measured_ns"] - way["declared_ns"]) for way in ways]
    assert max(errors_ns) <= LATE_NS, ways


def test_a_link_that_does_something_else_is_found_out(measure: Measure) -> None:
    ways = measure(star(Shape(delay_ns=10 * MS)), "calibration_of_a_wrong_link")["ways"]

    wrong_ways = [way for way in ways if way["measured_ns"] > way["declared_ns"] + LATE_NS]
    assert {(way["source"], way["target"]): way["measured_ns"] / MS for way in wrong_ways} == {
        ("a", "switch1"): pytest.approx(15, abs=1),
        ("switch1", "a"): pytest.approx(15, abs=1),
    }


def test_a_lossy_link_is_measured_by_the_packets_that_arrive_and_a_dead_one_not_at_all(
    measure: Measure,
) -> None:
    lossy, dead = (
        measure(star(Shape(delay_ns=5 * MS, loss=loss)), "calibration")["ways"][0]
        for loss in (0.3, 1.0)
    )

    assert 0 < lossy["arrived"] < lossy["probes"] == 15
    assert abs(lossy["measured_ns"] - 5 * MS) <= LATE_NS
    assert (dead["probes"], dead["measured_ns"], dead["loses_all"]) == (0, None, True)


def test_a_rate_is_measured_on_demand(measure: Measure) -> None:
    plan = star(Shape(delay_ns=5 * MS, rate_bps=20_000_000))

    ways = measure(plan, "calibration_of_rates")["ways"]

    rates = [way["measured_bps"] for way in ways if way["declared_bps"]]
    assert rates == [pytest.approx(20_000_000, rel=RATE_SHARE)] * 2
