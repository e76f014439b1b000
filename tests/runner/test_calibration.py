from dataclasses import replace
from types import SimpleNamespace

import pytest

from streambed.plan import Shape
from streambed.runner.calibration import calibration
from streambed.runner.calibration.calibration import calibration_of, expected_ns, with_rates
from streambed.runner.calibration.probing import (
    PROBES,
    PROBES_LEAST,
    SPREAD_MOST_NS,
    arriving,
    directions_of,
)
from streambed.runner.calibration.probing import schedule as schedule_of
from streambed.runner.calibration.rate import groups
from tests.support.small_plans import MS, pair, star


def way_of(shape, took_ms=()):
    way = next(directions_of(pair(shape)))
    way.sent_ns.extend(range(len(took_ms)))
    way.took_ns.update(enumerate(round(took * MS) for took in took_ms))
    return way


def test_a_delay_is_the_median_of_what_packets_took_without_what_all_of_them_cost():
    calibration = calibration_of(way_of(Shape(delay_ns=10 * MS), [10.1, 10.2, 90]), 50_000)

    assert (
        calibration.declared_ns,
        calibration.measured_ns,
        calibration.arrived,
        calibration.wrong,
    ) == (
        10 * MS,
        10_150_000,
        3,
        False,
    )


def test_with_jitter_it_is_the_mean_and_chance_may_be_off_by_three_standard_errors():
    calibration = calibration_of(
        way_of(Shape(delay_ns=10 * MS, jitter_ns=3 * MS), [8, 9, 11, 16]), 0
    )

    assert (calibration.measured_ns, calibration.chance_ns) == (
        11 * MS,
        pytest.approx(3 * 3 * MS / 3**0.5 / 2, rel=0.01),
    )


def test_packets_that_are_not_delayed_make_the_mean_shorter():
    assert expected_ns(Shape(delay_ns=10 * MS, reorder=0.5)) == (5 * MS, 5 * MS)


def test_a_link_that_loses_everything_is_asked_nothing_and_is_not_wrong():
    calibration = calibration_of(way_of(Shape(loss=1.0)), 0)

    assert (calibration.measured_ns, calibration.loses_all, calibration.wrong) == (
        None,
        True,
        False,
    )
    assert not schedule_of([way_of(Shape(loss=1.0))])


def test_a_lossy_way_gets_more_packets():
    packets = [number for _, number, _ in schedule_of([way_of(Shape()), way_of(Shape(loss=0.5))])]

    assert (packets.count(0), packets.count(1)) == (PROBES, 2 * PROBES)


def test_what_arrives_allows_for_bursts_and_for_packets_that_are_damaged():
    assert arriving(Shape(loss_enter=0.1, loss_leave=0.3, loss_bad=0.8)) == pytest.approx(0.8)
    assert arriving(Shape(loss=0.5, corrupt=0.5)) == 0.25


def test_many_ways_get_fewer_packets_each_and_are_done_in_a_second():
    ways = [way_of(Shape()) for _ in range(2500)]
    schedule = schedule_of(ways)

    assert len(schedule) / len(ways) == pytest.approx(4)
    assert schedule[-1][0] <= SPREAD_MOST_NS
    assert PROBES_LEAST <= 4 <= PROBES


def test_rates_are_measured_together_as_long_as_this_machine_can_fill_them():
    plan = star(Shape(rate_bps=300_000_000))

    assert [[way.key for way in group] for group in groups(directions_of(plan))] == [
        [("a-switch1", "a")],
        [("a-switch1", "switch1")],
    ]


def test_a_measured_rate_stands_beside_the_declared_one():
    plan = pair(Shape(rate_bps=10_000_000))
    calibrations = {way.key: calibration_of(way, 0) for way in directions_of(plan)}

    (way,) = with_rates(plan, calibrations, {("a-b", "a"): 9_900_000}).values()

    assert (way.declared_bps, way.measured_bps, round(way.rate_error, 3)) == (
        10_000_000,
        9_900_000,
        0.01,
    )


def test_a_rate_that_is_wrong_is_measured_again_and_what_is_right_is_not(monkeypatch):
    plan = pair(Shape(delay_ns=10 * MS, rate_bps=10_000_000))
    asked, recorded = [], []

    def measure(world, ways):
        for way in ways:
            way.sent_ns.append(0)
            way.took_ns[0] = 10 * MS
        return 0

    def rates(world, ways):
        asked.append([way.key for way in ways])
        return {
            way.key: 6_000_000 if way.sender.node == "a" and len(asked) < 3 else 10_000_000
            for way in ways
        }

    monkeypatch.setattr(calibration, "measure", measure)
    monkeypatch.setattr(calibration, "rates", rates)
    calibration.calibrate(
        SimpleNamespace(
            plan=replace(plan, calibrates_rates=True),
            rest_until=lambda time_ns: None,
            record=recorded.append,
        )
    )

    assert asked == [[("a-b", "a"), ("a-b", "b")], [("a-b", "a")], [("a-b", "a")]]
    assert [way.measured_bps for way in recorded[0].ways] == [10_000_000, 10_000_000]
