from statistics import median

from streambed import Cut, Isolate, Kill, Pause
from streambed.errors import WorldError
from streambed.record import now_ns, wait_for_an_end
from streambed.record.events import Heal, HealFailed, Inject, InjectFailed
from streambed.runner.timeline import Moment, moments, timeline
from tests.support.fakes import FakeWorld

FAULTS = [Kill(at="0s", lasts="0s", target="poet"), Cut(at="0s", lasts="9s", link=("edge", "core"))]


def test_moments_come_in_order_and_injections_before_healings():
    late, soon = Kill(at="4s", lasts="2s", target="a"), Kill(at="1s", lasts="3s", target="b")

    found = moments([late, soon])

    s = 1_000_000_000
    assert found == [
        Moment(1 * s, False, 1),
        Moment(4 * s, False, 0),
        Moment(4 * s, True, 1),
        Moment(6 * s, True, 0),
    ]


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
    assert [type(event) for event in world.events] == [Inject, Inject, Heal, Heal]


def test_a_heal_that_fails_is_recorded_and_the_others_are_healed():
    world = FakeWorld()

    def refuse() -> None:
        raise WorldError("it will not start")

    world.find("poet").strike = lambda: refuse
    with timeline(FAULTS, world) as faults:
        faults.follow(now_ns(), now_ns())

    assert (
        HealFailed(fault=0, kind="kill", target="poet", reason="it will not start") in world.events
    )
    assert not world.wire(("edge", "core")).cut_off


def test_a_role_that_nobody_holds_is_recorded_and_the_run_goes_on():
    world = FakeWorld()

    with timeline(
        [Isolate(at="0s", lasts="1s", target="leader of lines/0"), *FAULTS], world
    ) as faults:
        faults.follow(now_ns(), now_ns())

    reason = "nobody is leader of lines/0 at this moment"
    assert world.events[0] == InjectFailed(
        fault=0, kind="isolate", target="leader of lines/0", reason=reason
    )
    assert [type(event) for event in world.events[1:]] == [Inject, Inject, Heal, Heal]


def test_healing_hits_whoever_was_hit_although_the_role_moved():
    world = FakeWorld()
    world.roles["controller"] = "kafka/b1"

    with timeline([Kill(at="0s", lasts="9s", target="controller")], world) as faults:
        faults.follow(now_ns(), now_ns())
        world.roles["controller"] = "kafka/b2"

    assert world.find("kafka/b1").alive
    assert [(type(event), event.target) for event in world.events] == [
        (Inject, "kafka/b1 (controller)"),
        (Heal, "kafka/b1 (controller)"),
    ]


def test_lateness_counts_from_the_declared_time():
    world, start = FakeWorld(), now_ns() - 3_000_000

    with timeline(FAULTS[:1], world) as faults:
        faults.follow(start, start)

    assert all(3_000_000 <= event.late_ns < 500_000_000 for event in world.events)


def test_half_of_the_faults_come_within_ten_milliseconds():
    world = FakeWorld()
    world.rest_until = lambda time_ns: wait_for_an_end(
        [], limit_s=max(0, time_ns - now_ns()) / 1e9
    )  # Here time passes.
    pauses = [Pause(at=f"{20 * number}ms", lasts="7ms", target="poet") for number in range(9)]

    with timeline(pauses, world) as faults:
        faults.follow(now_ns(), now_ns() + 200_000_000)

    late_ns = [event.late_ns for event in world.events]
    assert len(late_ns) == 18 and median(late_ns) <= 10_000_000
