from fakes import FakeWorld

from streambed import Cut, Kill
from streambed.errors import WorldError
from streambed.record import now_ns
from streambed.runner.timeline import Moment, moments, timeline

FAULTS = [Kill(at="0s", lasts="0s", target="poet"), Cut(at="0s", lasts="9s", link=("edge", "core"))]


def test_moments_come_in_order_and_injections_before_healings():
    late, soon = Kill(at="4s", lasts="2s", target="a"), Kill(at="1s", lasts="3s", target="b")

    found = moments([late, soon])

    s = 1_000_000_000
    assert found == [Moment(1 * s, False, 1), Moment(4 * s, False, 0), Moment(4 * s, True, 1), Moment(6 * s, True, 0)]


def test_a_fault_that_outlasts_the_load_is_healed_at_its_end():
    world = FakeWorld()

    with timeline(FAULTS, world) as faults:
        faults.follow(now_ns(), now_ns())
        assert world.wire(("edge", "core")).cut_off
        faults.heal_all()

    assert not world.wire(("edge", "core")).cut_off


def test_faults_are_healed_on_every_way_out():
    world = FakeWorld()

    try:
        with timeline(FAULTS, world) as faults:
            faults.follow(now_ns(), now_ns())
            raise WorldError("something else broke")
    except WorldError:
        pass

    assert not world.wire(("edge", "core")).cut_off
    assert [event for event, _ in world.events] == ["inject", "inject", "heal", "heal"]


def test_a_heal_that_fails_is_recorded_and_the_others_are_healed():
    world = FakeWorld()

    def refuse() -> None:
        raise WorldError("it will not start")

    world.find("poet").start = refuse
    with timeline(FAULTS, world) as faults:
        faults.follow(now_ns(), now_ns())

    assert ("heal_failed", {"fault": 0, "kind": "kill", "target": "poet", "reason": "it will not start"}) in world.events
    assert not world.wire(("edge", "core")).cut_off
