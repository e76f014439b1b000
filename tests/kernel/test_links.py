"""Links do what the plan says, as measured from the hosts; the same by the delay line and by netem.

The delay line must keep to what streambed promises of every link (record/calibration.py): 1 ms or
5 % of the delay, 5 % of the rate. netem is measured in a machine emulated by qemu without hardware
support, whose processor is too slow for these bounds. So there the kernel itself is asked for its
disciplines, which must have exactly the values of the plan, and times need only be of the right
order of magnitude.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from streambed.plan import Plan, Shape
from streambed.record.calibration import RATE_SHARE, bound_ns
from tests.support.kernel.boxes import Measure
from tests.support.small_plans import MS, chain, pair, star

pytestmark = pytest.mark.kernel

RoundTrip = Callable[[Plan], float]
KeepsDelay = Callable[[float, float], bool]
KeepsRate = Callable[[float, float], bool]

DELAY = Shape(delay_ns=10 * MS)
NARROW = Shape(delay_ns=10 * MS, rate_bps=10_000_000)
NETEM_DELAY_SHARE = 0.2
NETEM_RATE_LEAST = 0.2
"""The emulated processor fills a link to a fifth when other programs want the real one too."""
NETEM_RATE_MOST = 1.1


@pytest.fixture
def round_trip_ms(means: str, measure_both: Measure) -> RoundTrip:
    """The median; for netem the least, because a slow processor is late for many packets."""
    which = "least_ms" if means == "netem" else "median_ms"
    return lambda plan: measure_both(plan, "round_trips")[which]


@pytest.fixture
def keeps_delay(means: str, slack_ms: float) -> KeepsDelay:
    """Whether a measured delay in ms is near enough to the declared one."""

    def by_delay_line(measured_ms: float, declared_ms: float) -> bool:
        return abs(measured_ms - declared_ms) <= bound_ns(round(declared_ms * MS)) / MS

    def by_netem(measured_ms: float, declared_ms: float) -> bool:
        share_ms = declared_ms * NETEM_DELAY_SHARE
        return -share_ms <= measured_ms - declared_ms <= share_ms + slack_ms

    return by_netem if means == "netem" else by_delay_line


@pytest.fixture
def keeps_rate(means: str) -> KeepsRate:
    """Whether a measured rate is near enough to the declared one."""

    def by_delay_line(measured: float, declared: float) -> bool:
        return abs(measured - declared) <= declared * RATE_SHARE

    def by_netem(measured: float, declared: float) -> bool:
        return declared * NETEM_RATE_LEAST <= measured <= declared * NETEM_RATE_MOST

    return by_netem if means == "netem" else by_delay_line


def test_the_kernel_has_the_values_of_the_plan(means: str, measure_both: Measure) -> None:
    treated = {"delay_ns": 10 * MS, "jitter_ns": 2 * MS, "loss": 0.02, "duplicate": 0.01}
    bounded = {"rate_bps": 10_000_000, "queue_bytes": 50_000}

    found = measure_both(pair(Shape(**treated, **bounded)), "disciplines")

    bucket = {"kind": "tbf", **bounded}
    # The delay line does the rest itself.
    expected = [bucket] if means == "delay_line" else [{"kind": "netem", **treated}, bucket]
    assert found == {"a": expected, "b": expected}


def test_a_queue_holds_what_the_rate_carries_in_100_ms(measure_both: Measure) -> None:
    found = measure_both(pair(NARROW), "disciplines")

    assert {"kind": "tbf", "rate_bps": 10_000_000, "queue_bytes": 125_000} in found["a"]


def test_two_hosts_linked_directly_are_two_delays_apart(
    round_trip_ms: RoundTrip, keeps_delay: KeepsDelay
) -> None:
    assert keeps_delay(round_trip_ms(pair(DELAY)), 20)


def test_hosts_behind_a_switch_are_two_delays_apart(
    round_trip_ms: RoundTrip, keeps_delay: KeepsDelay
) -> None:
    assert keeps_delay(round_trip_ms(star(DELAY)), 20)


def test_delays_of_a_way_through_two_switches_add_up(
    round_trip_ms: RoundTrip, keeps_delay: KeepsDelay
) -> None:
    plan = chain(2, DELAY, Shape(delay_ns=5 * MS))

    assert keeps_delay(round_trip_ms(plan), 40)


def test_a_link_without_a_shape_adds_next_to_nothing(
    round_trip_ms: RoundTrip, slack_ms: float
) -> None:
    assert round_trip_ms(star(Shape())) < slack_ms


def test_jitter_spreads_round_trips_evenly_to_both_sides(
    measure_both: Measure, slack_ms: float
) -> None:
    times = measure_both(pair(Shape(delay_ns=20 * MS, jitter_ns=10 * MS)), "round_trips")

    # The bounds are those of chance: 40 round trips, each the sum of two draws even over ±10 ms.
    middle_half_ms = 2 * 20 * (1 - 0.5**0.5)
    assert times["least_ms"] < 36
    assert 32 <= times["median_ms"] <= 48 + 2 * slack_ms
    assert 0.25 * middle_half_ms <= times["middle_half_ms"] <= 1.75 * middle_half_ms + slack_ms


def test_tcp_fills_a_link_to_its_rate_and_no_further(
    measure_both: Measure, keeps_rate: KeepsRate
) -> None:
    throughput = measure_both(star(Shape(rate_bps=10_000_000)), "throughput")

    assert keeps_rate(throughput["mbit_per_s"], 10)


@pytest.mark.parametrize(
    "plan", [star(NARROW), pair(NARROW)], ids=["behind a switch", "linked directly"]
)
def test_tcp_that_fills_the_link_of_its_host_does_not_fill_its_queue(
    measure_both: Measure, plan: Plan, means: str, keeps_rate: KeepsRate
) -> None:
    loaded = measure_both(plan, "loaded_round_trips")

    most_ms = {"delay_line": 30, "netem": 60}[means]
    assert keeps_rate(loaded["mbit_per_s"], 10)
    assert 20 < loaded["median_ms"] < most_ms  # The queue alone would hold 100 ms.


def test_tcp_passes_a_queue_that_is_shorter_than_a_bundle(
    measure_both: Measure, means: str
) -> None:
    shape = Shape(rate_bps=100_000_000, queue_bytes=30_000)
    throughput = measure_both(star(shape), "throughput")

    # In bundles, nearly all of which the queue drops, it would be 0.2 Mbit/s. TCP that loses now
    # and then does not fill a link, so no 5 % here.
    least = {"delay_line": 80, "netem": 2}[means]
    assert throughput["mbit_per_s"] > least


def test_a_tenth_of_the_packets_is_lost_where_a_tenth_is_declared(measure_both: Measure) -> None:
    packets = measure_both(star(Shape(loss=0.1)), "loss")

    spread = (packets["sent"] * 0.1 * 0.9) ** 0.5
    assert abs(packets["sent"] * 0.9 - packets["arrived"]) <= 3.3 * spread  # 99.9 % of all seeds.


def test_tcp_loses_packets_one_by_one(measure_both: Measure) -> None:
    missed = measure_both(star(Shape(delay_ns=10 * MS, loss=0.02)), "gaps")["missed"]

    # Two in a row are rare; whole bundles would be forty.
    assert missed["1"] >= 0.7 * sum(missed.values())


@pytest.mark.parametrize(
    "plan", [star(DELAY), pair(DELAY)], ids=["behind a switch", "linked directly"]
)
def test_a_wire_is_cut_and_mended_in_each_direction(measure_both: Measure, plan: Plan) -> None:
    assert measure_both(plan, "cuts") == {
        "whole": {"asked": True, "answered": True},
        "from a": {"asked": False, "answered": False},
        "to a": {"asked": True, "answered": False},
        "both": {"asked": False, "answered": False},
        "mended": {"asked": True, "answered": True},
    }


def test_a_link_is_made_worse_for_a_while(
    measure_both: Measure, means: str, keeps_rate: KeepsRate
) -> None:
    looks = measure_both(star(NARROW), "degraded")

    before, during, after = (looks[when]["mbit_per_s"] for when in ("before", "during", "after"))
    during_share = {"delay_line": RATE_SHARE, "netem": 0.4}[means]
    assert during == pytest.approx(1, rel=during_share)
    assert keeps_rate(before, 10) and keeps_rate(after, 10)
    assert looks["during"]["round_trip_ms"] > 80


def test_what_is_on_its_way_arrives_although_its_wire_is_cut(measure_both: Measure) -> None:
    assert measure_both(pair(Shape(delay_ns=300 * MS)), "on_its_way") == {
        "before": 0,
        "after": True,
    }


def test_a_cut_is_silence_and_a_mended_wire_answers_at_once(measure_both: Measure) -> None:
    cut = measure_both(star(DELAY), "long_cut")

    # Not "no route to host": packets are dropped without an answer.
    assert cut["ended"] == "timed out"
    assert cut["first_ms"] and cut["first_ms"] < 500
