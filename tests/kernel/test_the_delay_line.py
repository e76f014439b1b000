"""What is so of the delay line alone."""

from __future__ import annotations

import pytest
from boxes import Measure
from small_plans import MS, pair, star

from streambed.plan import Shape

pytestmark = pytest.mark.kernel

DELAY = Shape(delay_ns=10 * MS)


def test_the_delay_line_says_how_late_it_was(measure: Measure) -> None:
    found = measure(pair(DELAY), "segments")

    assert set(found) == {"packets", "dropped", "late_mean_ns", "late_max_ns", "late_packets"}


def test_where_packets_are_lost_they_are_lost_one_by_one(measure: Measure) -> None:
    found = measure(star(Shape(loss=0.01)), "segments")

    assert found["packets"] + found["dropped"] > 1_000_000 / 1500


def test_where_none_is_lost_segments_travel_in_bundles(measure: Measure) -> None:
    assert measure(star(Shape(delay_ns=MS)), "segments")["packets"] < 1_000_000 / 1500


def test_a_link_without_its_delay_line_is_dead(measure: Measure) -> None:
    assert measure(star(DELAY), "killed_delay_line") == {"before": True, "after": False}
