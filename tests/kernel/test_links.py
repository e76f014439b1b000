"""Links do what the plan says, as measured from the hosts; the same by the delay line and by
netem.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from boxes import Measure
from small_plans import MS, chain, pair, star

from streambed.plan import Plan, Shape

pytestmark = pytest.mark.kernel

RoundTrip = Callable[[Plan], float]

DELAY = Shape(delay_ns=10 * MS)
NARROW = Shape(delay_ns=10 * MS, rate_bps=10_000_000)


@pytest.fixture
def round_trip_ms(means: str, measure_both: Measure) -> RoundTrip:
    """The median; but the least where the processor is slow: when others want it too, it is late
    for many packets, not for all.
    """
    which = "least_ms" if means == "netem" else "median_ms"
    return lambda plan: measure_both(plan, "round_trips")[which]


def within(found: float, wanted: float, *, share: float, beside: float = 0.0) -> bool:
    """Whether it is as wanted but for a share, and no more than `beside` above that."""
    return -wanted * share <= found - wanted <= wanted * share + beside


def test_two_hosts_linked_directly_are_two_delays_apart(
    round_trip_ms: RoundTrip, slack_ms: float
) -> None:
    assert within(round_trip_ms(pair(DELAY)), 20, share=0.2, beside=slack_ms)


def test_hosts_behind_a_switch_are_two_delays_apart(
    round_trip_ms: RoundTrip, slack_ms: float
) -> None:
    assert within(round_trip_ms(star(DELAY)), 20, share=0.2, beside=slack_ms)


def test_delays_of_a_way_through_two_switches_add_up(
    round_trip_ms: RoundTrip, slack_ms: float
) -> None:
    assert within(
        round_trip_ms(chain(2, DELAY, Shape(delay_ns=5 * MS))), 40, share=0.2, beside=slack_ms
    )


def test_a_link_without_a_shape_adds_next_to_nothing(
    round_trip_ms: RoundTrip, slack_ms: float
) -> None:
    assert round_trip_ms(star(Shape())) < 1 + slack_ms


def test_jitter_spreads_round_trips_evenly_to_both_sides(
    measure_both: Measure, slack_ms: float
) -> None:
    found = measure_both(pair(Shape(delay_ns=20 * MS, jitter_ns=10 * MS)), "round_trips")

    assert found["least_ms"] < 36
    assert within(found["median_ms"], 40, share=0.2, beside=2 * slack_ms)
    assert within(
        found["middle_half_ms"], 2 * 20 * (1 - 0.5**0.5), share=0.75, beside=slack_ms
    )  # Two draws, each even over ±10 ms.


def test_tcp_fills_a_link_to_its_rate_and_no_further(measure_both: Measure, means: str) -> None:
    found = measure_both(star(Shape(rate_bps=10_000_000)), "throughput")["mbit_per_s"]

    least = (
        5 if means == "delay_line" else 2
    )  # A link is not filled when others want the processors too.
    assert least <= found <= 11


@pytest.mark.parametrize(
    "plan", [star(NARROW), pair(NARROW)], ids=["behind a switch", "linked directly"]
)
def test_tcp_that_fills_the_link_of_its_own_host_does_not_fill_its_queue(
    measure_both: Measure, plan: Plan
) -> None:
    found = measure_both(plan, "loaded_round_trips")

    assert found["mbit_per_s"] > 2
    assert 20 < found["median_ms"] < 60  # The queue alone would hold 100 ms.


def test_tcp_passes_a_queue_that_is_shorter_than_a_bundle(
    measure_both: Measure, means: str
) -> None:
    found = measure_both(star(Shape(rate_bps=100_000_000, queue_bytes=30_000)), "throughput")[
        "mbit_per_s"
    ]

    assert (
        found > {"delay_line": 10, "netem": 2}[means]
    )  # In bundles, nearly all of which the queue drops, it were 0.2.


def test_a_tenth_of_the_packets_is_lost_where_a_tenth_is_declared(measure_both: Measure) -> None:
    found = measure_both(star(Shape(loss=0.1)), "loss")

    spread = (found["sent"] * 0.1 * 0.9) ** 0.5
    assert abs(found["sent"] * 0.9 - found["arrived"]) <= 3.3 * spread  # 99.9 % of all seeds.


def test_tcp_loses_packets_one_by_one(measure_both: Measure) -> None:
    missed = measure_both(star(Shape(delay_ns=10 * MS, loss=0.02)), "gaps")["missed"]

    assert missed["1"] >= 0.7 * sum(
        missed.values()
    )  # Two in a row are rare, bundles of forty unheard of.


@pytest.mark.parametrize(
    "plan", [star(DELAY), pair(DELAY)], ids=["behind a switch", "linked directly"]
)
def test_a_wire_is_cut_and_mended_in_each_direction(measure_both: Measure, plan) -> None:  # type: ignore[no-untyped-def]
    assert measure_both(plan, "cuts") == {
        "whole": {"asked": True, "answered": True},
        "from a": {"asked": False, "answered": False},
        "to a": {"asked": True, "answered": False},
        "both": {"asked": False, "answered": False},
        "mended": {"asked": True, "answered": True},
    }


def test_a_link_is_made_worse_for_a_while(measure_both: Measure) -> None:
    found = measure_both(star(Shape(delay_ns=10 * MS, rate_bps=10_000_000)), "degraded")

    before, during, after = (found[when]["mbit_per_s"] for when in ("before", "during", "after"))
    assert within(during, 1, share=0.4)
    assert 2 <= before <= 11 and 2 <= after <= 11
    assert found["during"]["round_trip_ms"] > 80


def test_what_is_on_its_way_arrives_although_its_wire_is_cut(measure_both: Measure) -> None:
    assert measure_both(pair(Shape(delay_ns=300 * MS)), "on_its_way") == {
        "before": 0,
        "after": True,
    }


def test_a_cut_is_silence_and_a_mended_wire_answers_at_once(measure_both: Measure) -> None:
    found = measure_both(star(DELAY), "long_cut")

    assert (
        found["ended"] == "timed out"
    )  # Not "no route to host": packets are dropped, nobody says so.
    assert found["first_ms"] and found["first_ms"] < 500
