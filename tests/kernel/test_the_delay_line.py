"""What only the delay line does, not netem."""

from __future__ import annotations

import pytest
from boxes import Measure

from streambed.net import realtime
from streambed.plan import Plan, Shape
from tests.net.small_plans import MS, pair, star

pytestmark = pytest.mark.kernel

DELAY = Shape(delay_ns=10 * MS)


def test_the_delay_line_says_how_late_it_was(measure: Measure) -> None:
    found = measure(pair(DELAY), "segments")

    assert set(found) == {
        "written_ns",
        "packets",
        "dropped",
        "late_mean_ns",
        "late_max_ns",
        "late_packets",
    }


def test_where_packets_are_lost_they_are_lost_one_by_one(measure: Measure) -> None:
    found = measure(star(Shape(loss=0.01)), "segments")

    assert found["packets"] + found["dropped"] > 1_000_000 / 1500


def test_where_none_is_lost_segments_travel_in_bundles(measure: Measure) -> None:
    assert measure(star(Shape(delay_ns=MS)), "segments")["packets"] < 1_000_000 / 1500


def test_a_link_without_its_delay_line_is_dead(measure: Measure) -> None:
    assert measure(star(DELAY), "killed_delay_line") == {"before": True, "after": False}


EVERYWHERE = pytest.mark.parametrize(
    ("make", "name"),
    [(pair, "arrivals"), (star, "arrivals"), (star, "arrivals_back")],
    ids=["in the receiver", "in a switch that receives", "in a switch that sends"],
)


def about(found: int, share: float, of: int) -> bool:
    """Whether `found` is what chance gives, except for one seed in a thousand."""
    return abs(found - share * of) <= 3.3 * (of * share * (1 - share)) ** 0.5


@EVERYWHERE
def test_a_tenth_arrives_twice_where_a_tenth_is_doubled(measure: Measure, make, name: str) -> None:  # type: ignore[no-untyped-def]
    found = measure(make(Shape(delay_ns=5 * MS, duplicate=0.1)), name)

    assert found["came"] == found["sent"]
    assert about(found["twice"], 0.1, found["sent"])


@EVERYWHERE
def test_what_is_corrupted_fails_its_checksum(measure: Measure, make, name: str) -> None:  # type: ignore[no-untyped-def]
    found = measure(make(Shape(delay_ns=5 * MS, corrupt=0.1)), name)

    assert about(found["sent"] - found["came"], 0.1, found["sent"])
    # A damaged port number leads elsewhere, so a few are never counted.
    assert found["damaged"] + found["came"] >= found["sent"] - 5


def test_a_share_overtakes_where_packets_are_reordered(measure: Measure) -> None:
    found = measure(pair(Shape(delay_ns=5 * MS, reorder=0.1)), "arrivals")

    assert (found["came"], found["twice"]) == (found["sent"], 0)
    assert found["later"] > 0.3 * found["sent"]


def test_nothing_overtakes_where_jitter_keeps_order(measure: Measure) -> None:
    found = measure(pair(Shape(delay_ns=5 * MS, jitter_ns=4 * MS, in_order=True)), "arrivals")

    assert (found["came"], found["later"]) == (found["sent"], 0)


@pytest.mark.parametrize(
    "plan",
    [pair(Shape(corrupt=0.05)), star(Shape(corrupt=0.05, duplicate=0.05))],
    ids=["pair", "star"],
)
def test_a_stream_is_intact_although_segments_are_damaged(measure: Measure, plan: Plan) -> None:
    found = measure(plan, "stream")

    assert found["intact"] and found["damaged"] > 0


def test_what_a_switch_sends_itself_is_delayed_too(measure: Measure) -> None:
    assert 19 < measure(star(DELAY), "echo_of_a_switch")["median_ms"] < 21


def test_only_the_delay_line_runs_in_real_time_and_only_where_it_may(measure: Measure) -> None:
    allowed = realtime.is_allowed()

    found = measure(pair(DELAY), "in_real_time")

    assert found["delay line"] == allowed == (found["says"] == "in real time")
    assert found["threads"] == int(allowed)  # The one that starts it.
    assert not found["program"]
