import threading
from statistics import median

from streambed import Cut, Isolate, Kill, Pause, Producer
from streambed.errors import WorldError
from streambed.kinds.faults.when.schedule import schedule
from streambed.plan import ProcessSpec
from streambed.record import now_ns, wait_for_an_end
from streambed.record.events import Heal, HealFailed, Inject, InjectFailed
from streambed.record.gauges import ProducerGauge
from streambed.runner.timeline import timeline as running
from streambed.runner.timeline.timeline import Act, Moment, moments
from tests.support import held_up
from tests.support.fakes import FakeWorld

FAULTS = [Kill(at="0s", lasts="0s", target="poet"), Cut(at="0s", lasts="9s", link=("edge", "core"))]


def planned(faults):
    return schedule(faults, duration_ns=60_000_000_000, seed=1)


def timeline(faults, world):
    return running.timeline(faults, planned(faults), world)


def test_moments_come_in_order_and_injections_before_healings():
    late, soon = Kill(at="4s", lasts="2s", target="a"), Kill(at="1s", lasts="3s", target="b")

    found = [moment for moment in moments(planned([late, soon])) if moment.act is not Act.LOOK_UP]

    s = 1_000_000_000
    assert found == [
        Moment(1 * s, Act.INJECT, 0),
        Moment(4 * s, Act.INJECT, 1),
        Moment(4 * s, Act.HEAL, 0),
        Moment(6 * s, Act.HEAL, 1),
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

    world.find("poet").kill = lambda: refuse
    with timeline(FAULTS, world) as faults:
        faults.follow(now_ns(), now_ns())

    assert (
        HealFailed(fault=0, kind="kill", target="poet", reason="it will not start") in world.events
    )
    assert not world.wire(("edge", "core")).cut_off


def test_a_role_that_nobody_holds_is_recorded_and_the_run_continues():
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


def test_healing_affects_the_same_process_although_the_role_moved():
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
    held_up.measure_in_calm(measure_lateness)


def measure_lateness() -> None:
    world = with_passing_time(FakeWorld())
    pauses = [Pause(at=f"{20 * number}ms", lasts="7ms", target="poet") for number in range(9)]

    with timeline(pauses, world) as faults:
        faults.follow(now_ns(), now_ns() + 200_000_000)

    late_ns = [event.late_ns for event in world.events]
    assert len(late_ns) == 18 and median(late_ns) <= 10_000_000


def with_passing_time(world: FakeWorld) -> FakeWorld:
    world.rest_until = lambda time_ns: wait_for_an_end([], limit_s=max(0, time_ns - now_ns()) / 1e9)
    return world


def test_a_slow_injection_does_not_delay_the_next():
    world = with_passing_time(FakeWorld())
    slow = world.find("slow")
    kill = slow.kill

    def kill_slowly():
        wait_for_an_end([], limit_s=0.3)
        return kill()

    slow.kill = kill_slowly
    faults = [
        Kill(at="0s", lasts="9s", target="slow"),
        Kill(at="50ms", lasts="9s", target="quick"),
    ]
    with timeline(faults, world) as active:
        active.follow(now_ns(), now_ns() + 100_000_000)

    late_ns = {event.target: event.late_ns for event in world.events if type(event) is Inject}
    assert late_ns["slow"] >= 300_000_000
    assert late_ns["quick"] < 50_000_000
    assert slow.alive, "it was healed after its injection, however long that took"


def test_a_fault_comes_every_so_often():
    world = with_passing_time(FakeWorld())
    faults = [Pause(at="10ms", lasts="5ms", every="20ms", repeat=3, target="poet")]

    with timeline(faults, world) as active:
        active.follow(now_ns(), now_ns() + 100_000_000)

    assert [type(event) for event in world.events] == [Inject, Heal] * 3


def test_a_fault_comes_after_a_count_and_the_event_names_it():
    world = with_passing_time(FakeWorld())
    world.components = {"poet": Producer(name="poet", node="edge", writes="lines")}
    world.plan.processes = (ProcessSpec(name="poet", component="poet", node="edge", argv=()),)
    faults = [Kill(after="1000 acked on lines", lasts="5ms", target="poet")]
    world.gauges["poet"] = ProducerGauge(acked=999)

    with timeline(faults, world) as active:
        start_ns = now_ns()
        count = threading.Timer(0.05, world.gauges.__setitem__, ("poet", ProducerGauge(acked=1000)))
        count.start()
        active.follow(start_ns, start_ns + 150_000_000)

    inject, heal = world.events
    assert inject.trigger == "1000 acked on lines"
    assert type(heal) is Heal and world.find("poet").alive


def test_a_trigger_that_never_comes_is_recorded():
    world = with_passing_time(FakeWorld())
    faults = [Kill(after="1000 acked on lines", lasts="5ms", target="poet")]

    with timeline(faults, world) as active:
        active.follow(now_ns(), now_ns() + 20_000_000)

    assert world.events == [
        InjectFailed(fault=0, kind="kill", target="poet", reason="'1000 acked on lines' never came")
    ]
