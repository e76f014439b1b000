"""Links do what the plan says, as measured from the hosts."""

from __future__ import annotations

import pytest
from boxes import Measure
from small_plans import MS, chain, pair, star

from streambed.plan import Shape

pytestmark = pytest.mark.kernel

DELAY = Shape(delay_ns=10 * MS)


def within(found: float, wanted: float, *, share: float, beside: float = 0.0) -> bool:
    return abs(found - wanted) <= wanted * share + beside


def test_two_hosts_linked_directly_are_two_delays_apart(measure: Measure) -> None:
    assert within(measure(pair(DELAY), "round_trips")["median_ms"], 20, share=0.2, beside=1)


def test_hosts_behind_a_switch_are_two_delays_apart(measure: Measure) -> None:
    assert within(measure(star(DELAY), "round_trips")["median_ms"], 20, share=0.2, beside=1)


def test_delays_of_a_way_through_two_switches_add_up(measure: Measure) -> None:
    assert within(measure(chain(2, DELAY, Shape(delay_ns=5 * MS)), "round_trips")["median_ms"], 40, share=0.2, beside=1)


def test_a_link_without_a_shape_adds_next_to_nothing(measure: Measure) -> None:
    assert measure(star(Shape()), "round_trips")["median_ms"] < 2


def test_jitter_spreads_round_trips_evenly_to_both_sides(measure: Measure) -> None:
    found = measure(pair(Shape(delay_ns=20 * MS, jitter_ns=10 * MS)), "round_trips")

    assert within(found["median_ms"], 40, share=0.2, beside=1)
    assert within(found["middle_half_ms"], 2 * 20 * (1 - 0.5**0.5), share=0.5)  # Two draws, each even over ±10 ms.


def test_tcp_fills_a_link_to_its_rate_and_no_further(measure: Measure) -> None:
    assert within(measure(star(Shape(rate_bps=10_000_000)), "throughput")["mbit_per_s"], 10, share=0.1)


def test_a_tenth_of_the_packets_is_lost_where_a_tenth_is_declared(measure: Measure) -> None:
    found = measure(star(Shape(loss=0.1)), "loss")

    spread = (found["sent"] * 0.1 * 0.9) ** 0.5
    assert abs(found["sent"] * 0.9 - found["arrived"]) <= 3.3 * spread  # 99.9 % of all seeds.


def test_where_packets_are_lost_they_are_lost_one_by_one(measure: Measure) -> None:
    found = measure(star(Shape(loss=0.01)), "segments")

    assert found["packets"] + found["dropped"] > 1_000_000 / 1500


def test_where_none_is_lost_segments_travel_in_bundles(measure: Measure) -> None:
    assert measure(star(Shape(delay_ns=MS)), "segments")["packets"] < 1_000_000 / 1500


@pytest.mark.parametrize("plan", [star(DELAY), pair(DELAY)], ids=["behind a switch", "linked directly"])
def test_a_wire_is_cut_and_mended_in_each_direction(measure: Measure, plan) -> None:  # type: ignore[no-untyped-def]
    assert measure(plan, "cuts") == {
        "whole": {"asked": True, "answered": True},
        "from a": {"asked": False, "answered": False},
        "to a": {"asked": True, "answered": False},
        "both": {"asked": False, "answered": False},
        "mended": {"asked": True, "answered": True},
    }


def test_a_link_without_its_delay_line_is_dead(measure: Measure) -> None:
    assert measure(star(DELAY), "killed_delay_line") == {"before": True, "after": False}
