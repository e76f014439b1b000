"""What only the delay line does, not netem."""

from __future__ import annotations

import pytest

from streambed.net import realtime
from streambed.plan import Plan, Shape
from tests.support.kernel.boxes import Measure
from tests.support.small_plans import MS, pair, star

pytestmark = pytest.mark.kernel

DELAY = Shape(delay_ns=10 * MS)


def test_the_delay_line_says_how_late_it_was(measure: Measure) -> None:
    measured = measure(pair(DELAY), "segments")

    assert 0 < measured["late_mean_ns"] <= measured["late_max_ns"]
    assert measured["late_packets"] <= measured["packets"]


def test_where_packets_are_lost_they_are_lost_one_by_one(measure: Measure) -> None:
    measured = measure(star(Shape(loss=0.01)), "segments")

    assert measured["packets"] + measured["dropped"] > 1_000_000 / 1500


def test_where_none_is_lost_segments_travel_in_bundles(measure: Measure) -> None:
    assert measure(star(Shape(delay_ns=MS)), "segments")["packets"] < 1_000_000 / 1500


def test_a_link_without_its_delay_line_is_dead(measure: Measure) -> None:
    assert measure(star(DELAY), "killed_delay_line") == {"before": True, "after": False}


EVERYWHERE = pytest.mark.parametrize(
    ("make", "name"),
    [(pair, "arrivals"), (star, "arrivals"), (star, "arrivals_back")],
    ids=["in the receiver", "in a switch that receives", "in a switch that sends"],
)


def about(measured: int, share: float, of: int) -> bool:
    """Whether `measured` is what chance gives, except for one seed in a thousand."""
    return abs(measured - share * of) <= 3.3 * (of * share * (1 - share)) ** 0.5


@EVERYWHERE
def test_a_tenth_arrives_twice_where_a_tenth_is_doubled(measure: Measure, make, name: str) -> None:  # type: ignore[no-untyped-def]
    measured = measure(make(Shape(delay_ns=5 * MS, duplicate=0.1)), name)

    assert measured["came"] == measured["sent"]
    assert about(measured["twice"], 0.1, measured["sent"])


@EVERYWHERE
def test_what_is_corrupted_fails_its_checksum(measure: Measure, make, name: str) -> None:  # type: ignore[no-untyped-def]
    measured = measure(make(Shape(delay_ns=5 * MS, corrupt=0.1)), name)

    assert about(measured["sent"] - measured["came"], 0.1, measured["sent"])
    # A damaged port number leads elsewhere, so a few are never counted.
    assert measured["damaged"] + measured["came"] >= measured["sent"] - 5


def test_a_share_overtakes_where_packets_are_reordered(measure: Measure) -> None:
    measured = measure(pair(Shape(delay_ns=5 * MS, reorder=0.1)), "arrivals")

    assert (measured["came"], measured["twice"]) == (measured["sent"], 0)
    assert measured["later"] > 0.3 * measured["sent"]


def test_nothing_overtakes_where_jitter_keeps_order(measure: Measure) -> None:
    measured = measure(pair(Shape(delay_ns=5 * MS, jitter_ns=4 * MS, in_order=True)), "arrivals")

    assert (measured["came"], measured["later"]) == (measured["sent"], 0)


@pytest.mark.parametrize(
    "plan",
    [pair(Shape(corrupt=0.05)), star(Shape(corrupt=0.05, duplicate=0.05))],
    ids=["pair", "star"],
)
def test_a_stream_is_intact_although_segments_are_damaged(measure: Measure, plan: Plan) -> None:
    measured = measure(plan, "stream")

    assert measured["intact"] and measured["damaged"] > 0


def test_what_a_switch_sends_itself_is_delayed_too(measure: Measure) -> None:
    assert 19 < measure(star(DELAY), "echo_of_a_switch")["median_ms"] < 21


def test_only_the_delay_line_runs_in_real_time_and_only_where_it_may(measure: Measure) -> None:
    allowed = realtime.is_allowed()

    measured = measure(pair(DELAY), "in_real_time")

    assert measured["delay line"] == allowed == (measured["says"] == "in real time")
    assert measured["threads"] == int(allowed)  # The one that starts it.
    assert not measured["program"]
