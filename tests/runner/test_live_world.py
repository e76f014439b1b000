"""The live world: deaths, restarts, troubles of other threads, roles, and how processes end."""

from __future__ import annotations

import signal
import threading
from types import SimpleNamespace

import pytest

from streambed.errors import ProcessError, WorldError
from streambed.kinds.components.component import ComponentBase
from streambed.plan import Allowance, PlannedNode
from streambed.record import now_ns
from streambed.record.events import ProcessEnded, ProcessStarted
from streambed.record.gauges import ProducerGauge, write_gauge
from streambed.runner import live_world, process
from streambed.runner.live_world import Interrupted, death
from tests.support.bare_world import (
    SECOND_NS,
    Part,
    bare_world,
    of_kind,
    program,
    shell,
    small_plan,
    wait_for,
)


class Cluster(ComponentBase):
    """A broker that answers each question about a role with the next name."""

    name = "kafka"
    kind = "kafka"

    def __init__(self, *holders: str) -> None:
        self.partitions = {"lines": 1}
        self.holders = list(holders)

    @property
    def as_broker(self):
        return self

    def role_holder(self, role, world):
        return self.holders.pop(0)


def started(world, name):
    process = world.processes[name]
    process.start()
    return process


def die(world, name):
    """Start a process and wait for its death, which nobody has noticed yet."""
    process = started(world, name)
    process._popen.wait()
    return process


def test_a_death_tells_the_status_the_last_lines_and_where_all_are(tmp_path):
    with bare_world(tmp_path, shell("job", "echo first; echo last; exit 7")) as world:
        process = die(world, "job")
        with pytest.raises(ProcessError) as error:
            world.watch()

    assert str(error.value) == (
        f"job on left ended with status 7. Its last lines (all in {process.log}):"
        "\n  | first\n  | last"
    )


def test_a_death_by_a_signal_names_it(tmp_path):
    with bare_world(tmp_path, shell("job", "kill -9 $$")) as world:
        die(world, "job")
        with pytest.raises(ProcessError, match="job on left was killed by signal 9"):
            world.watch()


def test_a_death_is_reported_once(tmp_path):
    with bare_world(tmp_path, shell("job", "exit 7")) as world:
        die(world, "job")
        with pytest.raises(ProcessError):
            world.watch()
        world.watch()

    assert len(of_kind(world, ProcessEnded)) == 1


def test_a_process_may_end_with_status_0(tmp_path):
    with bare_world(tmp_path, shell("job", "exit 0")) as world:
        die(world, "job")
        world.watch()

    (ended,) = of_kind(world, ProcessEnded)
    assert (ended.status, ended.expected, ended.last_lines) == (0, True, ())


def test_a_process_whose_end_is_only_recorded_does_not_end_the_run(tmp_path):
    with bare_world(tmp_path, shell("job", "echo why; exit 7", on_exit="record")) as world:
        die(world, "job")
        world.watch()

    (ended,) = of_kind(world, ProcessEnded)
    assert (ended.status, ended.expected, ended.last_lines) == (7, False, ("why",))


def test_a_process_that_is_to_be_restarted_lives_again(tmp_path):
    script = "test $STREAMBED_INCARNATION = 2 && exec sleep 60; exit 7"
    with bare_world(tmp_path, shell("job", script, on_exit="restart")) as world:
        die(world, "job")
        world.watch()
        assert world.processes["job"].alive

    assert [event.incarnation for event in of_kind(world, ProcessStarted)] == [1, 2]


def test_a_process_that_always_dies_is_not_restarted_for_ever(tmp_path, monkeypatch):
    monkeypatch.setattr(process, "RESTARTS_MAX", 2)
    with bare_world(tmp_path, shell("job", "exit 7", on_exit="restart")) as world:
        die(world, "job")
        for _ in range(2):
            world.watch()
            world.processes["job"]._popen.wait()
        with pytest.raises(ProcessError, match="ended with status 7"):
            world.watch()

    assert len(of_kind(world, ProcessStarted)) == 3


def test_a_process_that_a_fault_killed_is_no_death(tmp_path):
    with bare_world(tmp_path, program("job")) as world:
        heal = started(world, "job").kill()
        world.watch()
        heal()
        assert world.processes["job"].alive


def test_two_faults_that_killed_the_same_process_restart_it_when_both_are_healed(tmp_path):
    with bare_world(tmp_path, program("job")) as world:
        process = started(world, "job")
        first, second = process.kill(), process.kill()
        first()
        assert not process.alive
        second()
        assert process.alive


MIB = 1 << 20


@pytest.mark.parametrize(
    ("own", "of_host", "says"),
    [
        (256 * MIB, 512 * MIB, "components.job.limits.memory allows it 256MiB"),
        (0, 512 * MIB, "topology.memory allows the processes of left 512MiB all together"),
    ],
)
def test_a_process_killed_for_memory_names_the_key_that_allowed_too_little(
    tmp_path, own, of_host, says
):
    spec = program("job", allowance=Allowance(memory_bytes=own))
    node = PlannedNode(
        name="left",
        switch=False,
        address="",
        routes=(),
        allowance=Allowance(memory_bytes=of_host),
    )
    process = SimpleNamespace(name="job", spec=spec, memory_kills=1, log=tmp_path, last_lines=list)

    message = death(process, -9, small_plan(tmp_path, nodes=(node,)))

    assert f"job on left was killed for memory: {says}. Raise that, or let it need less." in message


def test_troubles_of_other_threads_are_raised_one_by_one(tmp_path):
    with bare_world(tmp_path) as world:
        world.troubles += [WorldError("first"), Interrupted()]
        with pytest.raises(WorldError, match="first"):
            world.watch()
        with pytest.raises(Interrupted):
            world.watch()
        world.watch()


def test_a_dead_delay_line_ends_the_run(tmp_path):
    with bare_world(tmp_path) as world:
        world.network.delay_line = SimpleNamespace(poll=lambda: None, pid=0)
        world.watch()
        world.network.delay_line = SimpleNamespace(poll=lambda: -9, pid=0)
        with pytest.raises(WorldError, match="the delay line died"):
            world.watch()


def test_a_condition_that_is_true_does_not_hide_a_trouble(tmp_path):
    with bare_world(tmp_path) as world:
        world.troubles.append(WorldError("the sampler failed"))
        with pytest.raises(WorldError, match="the sampler failed"):
            world.wait(lambda: True, limit_s=0)


def test_a_wait_says_whether_its_condition_came_true(tmp_path):
    answers = iter([False, False, True])
    with bare_world(tmp_path) as world:
        assert world.wait(lambda: next(answers), limit_s=20, step_s=0.001)
        assert not world.wait(lambda: False, limit_s=0.01, step_s=0.001)


def test_a_death_ends_a_rest(tmp_path):
    with bare_world(tmp_path, shell("job", "exit 7")) as world:
        started(world, "job")
        with pytest.raises(ProcessError, match="ended with status 7"):
            world.rest_until(now_ns() + 60 * SECOND_NS)


def test_a_trouble_of_another_thread_ends_a_rest(tmp_path, monkeypatch):
    monkeypatch.setattr(live_world, "TROUBLES_S_MAX", 0.01)
    with bare_world(tmp_path, program("job")) as world:
        started(world, "job")
        later = threading.Timer(0.005, world.troubles.append, [WorldError("no samples")])
        later.start()
        with pytest.raises(WorldError, match="no samples"):
            world.rest_until(now_ns() + 60 * SECOND_NS)
        later.join()


@pytest.mark.parametrize(
    ("target", "name"),
    [("kafka/left", "kafka/left"), ("kafka/right", "kafka/right"), ("poet", "poet/1")],
)
def test_a_process_is_found_by_its_name_or_as_the_only_one_of_a_component(tmp_path, target, name):
    specs = [
        program("kafka/left", component="kafka"),
        program("kafka/right", component="kafka", node="right"),
        program("poet/1", component="poet"),
    ]
    with bare_world(tmp_path, *specs) as world:
        assert world.find(target).name == name


@pytest.mark.parametrize(("target", "count"), [("kafka", 2), ("kafka/middle", 0), ("nobody", 0)])
def test_a_target_that_names_none_or_several_processes_is_refused(tmp_path, target, count):
    specs = [
        program(f"kafka/{node}", component="kafka", node=node, networks=())
        for node in ("left", "right")
    ]
    with (
        bare_world(tmp_path, *specs) as world,
        pytest.raises(WorldError, match=f"'{target}' names {count} processes"),
    ):
        world.find(target)


def test_who_holds_a_role_is_asked_again_after_a_while(tmp_path, monkeypatch):
    now = [SECOND_NS]
    monkeypatch.setattr(live_world, "now_ns", lambda: now[0])
    with bare_world(tmp_path, components=[Cluster("kafka/left", "kafka/right")]) as world:
        assert world.holder("leader of lines/0") == "kafka/left"
        now[0] += live_world.ROLE_CACHE_NS
        assert world.holder("leader of lines/0") == "kafka/left"
        now[0] += 1
        assert world.holder("leader of lines/0") == "kafka/right"


def test_the_holders_of_two_roles_are_remembered_apart(tmp_path):
    with bare_world(tmp_path, components=[Cluster("kafka/left", "kafka/right")]) as world:
        assert world.holder("leader of lines/0") == "kafka/left"
        assert world.holder("controller of kafka") == "kafka/right"


def test_a_target_that_is_no_role_has_no_holder(tmp_path):
    with bare_world(tmp_path) as world, pytest.raises(WorldError, match="'king' is not a role"):
        world.holder("king")


def test_a_kept_value_is_made_once(tmp_path):
    with bare_world(tmp_path) as world:
        first = world.keep("client", list)
        assert world.keep("client", list) is first


def test_an_agent_has_no_gauge_before_it_writes_one(tmp_path):
    gauge = ProducerGauge(acked=3)
    with bare_world(tmp_path) as world:
        assert world.gauge("poet/1") is None
        write_gauge(tmp_path / "gauges" / "poet.1.json", gauge)
        assert world.gauge("poet/1") == gauge


def test_a_component_without_processes_has_a_data_folder(tmp_path):
    with bare_world(tmp_path, components=[Part("file")]):
        assert (tmp_path / "data" / "file").is_dir()


def test_a_process_that_does_not_stop_when_asked_is_killed(tmp_path, monkeypatch):
    monkeypatch.setattr(live_world, "STOP_S", 0.02)
    stubborn = shell("job", "trap '' TERM; echo up; while :; do sleep 0.01; done")
    with bare_world(tmp_path, stubborn) as world:
        process = started(world, "job")
        wait_for(lambda: bool(process.log.read_text()))
        world.stop([process])
        assert not process.alive

    assert [(event.status, event.expected) for event in of_kind(world, ProcessEnded)] == [
        (-signal.SIGKILL, True)
    ]


def test_an_interruption_cuts_a_stop_short(tmp_path, monkeypatch):
    monkeypatch.setattr(live_world, "STOP_S", 60)
    with bare_world(tmp_path, program("job")) as world:
        world.troubles.append(Interrupted())
        with pytest.raises(Interrupted):
            world.stop([started(world, "job")])


def test_the_end_of_a_world_kills_even_paused_processes(tmp_path):
    with bare_world(tmp_path, program("one"), program("two")) as world:
        started(world, "one").pause()
        started(world, "two")
        processes = list(world.processes.values())

    assert not any(process.alive for process in processes)
    assert len(of_kind(world, ProcessEnded)) == 2
