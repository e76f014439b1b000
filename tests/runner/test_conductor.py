"""The conductor: which phase comes when, and what happens when one of them fails."""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path

import pytest

from streambed import Pause
from streambed.errors import ProcessError, WorldError
from streambed.kinds.declared_parts import DeclaredParts
from streambed.kinds.faults.when.schedule import schedule
from streambed.record import codec, now_ns
from streambed.record.event_log import read_events
from streambed.record.events import (
    Clock,
    Drained,
    DrainIncomplete,
    Heal,
    Inject,
    Note,
    Phase,
    ProcessEnded,
    Ready,
    Wait,
    WitnessIncomplete,
)
from streambed.record.gates import LoadBegins, ServersReady, path_of
from streambed.runner import conductor, live_world
from streambed.runner.conductor import LEAD_NS, conduct, conduct_in
from streambed.runner.live_world import Interrupted
from streambed.runner.timeline.timeline import timeline
from tests.support.bare_world import (
    Part,
    bare_world,
    course,
    events_of,
    of_kind,
    program,
    shell,
    small_plan,
)

PAUSE = Pause(at="0s", lasts="9s", target="agent")
BEHIND = Wait(reason="behind", reader="reader", topics=("lines",), partition=0, records=3)
MOMENT_NS = 20_000_000


def run_through(world, *faults):
    injections = schedule(faults, duration_ns=60_000_000_000, seed=1)
    with timeline(faults, injections, world) as active:
        conduct_in(world, active)


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    """Nothing waits longer than a test likes."""
    monkeypatch.setattr(live_world, "STOP_S", 0.05)
    monkeypatch.setattr(conductor, "LEAD_NS", 0)


def test_each_process_starts_in_the_phase_that_it_names(tmp_path):
    specs = [
        shell(phase, "exit 0", starts=phase, on_exit="record")
        for phase in ("drain", "load", "ready", "start")
    ]

    with bare_world(tmp_path, *specs) as world:
        run_through(world)

    started = ["start", "+start", "servers", "ready", "+ready", "load", "+load", "heal"]
    assert course(world) == [*started, "drain", "+drain", "stop"]


def test_clients_may_pass_only_when_every_server_is_ready(tmp_path):
    answers = iter(["no leader", "no leader", ""])
    gate = path_of(tmp_path, ServersReady)
    seen = []

    def missing() -> str:
        seen.append(gate.exists())
        return next(answers)

    server = Part("kafka", server=True, missing=missing)
    client = Part("poet", missing=lambda: "" if gate.exists() else "its gate is shut")
    with bare_world(tmp_path, components=[client, server]) as world:
        run_through(world)

    assert seen == [False, False, False]
    assert [event.component for event in of_kind(world, Ready)] == ["kafka", "poet"]


def test_the_load_begins_when_all_processes_are_ready_and_a_moment_after_its_gate_opens(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(conductor, "LEAD_NS", LEAD_NS)
    gate = path_of(tmp_path, LoadBegins)
    shut = Part("poet", missing=lambda: "passed" if gate.exists() else "")
    with bare_world(tmp_path, components=[shut]) as world:
        run_through(world)

    began_ns = {event.phase: event.time for event in of_kind(world, Phase)}
    start_ns = codec.decode(LoadBegins, gate.read_bytes()).start_ns
    assert start_ns >= began_ns["ready"] + LEAD_NS
    assert began_ns["heal"] >= start_ns + world.plan.duration_ns


def test_a_process_that_is_not_ready_in_time_is_named_with_what_is_missing_and_its_last_lines(
    tmp_path,
):
    late = Part("kafka", server=True, missing=lambda: "no controller has been elected")
    waiting = shell("kafka/left", "echo looking for voters; sleep 60", component="kafka")
    with bare_world(tmp_path, waiting, components=[late], ready_limit_ns=MOMENT_NS) as world:
        world.processes["kafka/left"].start()
        log = world.processes["kafka/left"].log
        assert world.wait(lambda: bool(log.stat().st_size), limit_s=20)
        with pytest.raises(ProcessError) as error:
            conductor.ready(world)

    message = str(error.value)
    assert message.startswith("kafka was not ready within 0.02 s: no controller has been elected.")
    assert "Raise `ready:`" in message
    assert message.endswith("\n  | looking for voters")


def test_all_late_processes_are_named_and_ready_ones_are_not(tmp_path):
    parts = [
        Part("poet", missing=lambda: "no gauge"),
        Part("reader", missing=lambda: "no partitions"),
        Part("sink"),
    ]
    with (
        bare_world(tmp_path, components=parts, ready_limit_ns=MOMENT_NS) as world,
        pytest.raises(ProcessError) as error,
    ):
        run_through(world)

    lines = str(error.value).splitlines()
    assert [line.split()[0] for line in lines] == ["poet", "reader"]
    assert course(world)[-2:] == ["ready", "stop"]


def test_a_process_that_dies_while_others_get_ready_ends_the_wait(tmp_path):
    never = Part("kafka", server=True, missing=lambda: "no answer")
    with (
        bare_world(tmp_path, shell("kafka", "echo no disk; exit 7"), components=[never]) as world,
        pytest.raises(ProcessError, match=r"kafka on left ended with status 7[^|]*\| no disk"),
    ):
        run_through(world)

    assert course(world)[:2] == ["start", "+kafka"]
    assert course(world)[-1] == "stop"
    assert "load" not in course(world)


def test_when_a_process_dies_in_the_load_the_others_may_still_save_their_records(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(live_world, "STOP_S", 20)
    dies = shell("dies", "exit 7", starts="load")
    saves = shell("saves", "trap 'echo saved; exit 0' TERM; echo up; while :; do sleep .01; done")
    with bare_world(tmp_path, dies, saves, duration_ns=60_000_000_000) as world:
        log = world.processes["saves"].log
        part = Part("saves", missing=lambda: "" if log.read_text() else "it is not up")
        world.components["saves"] = part
        with pytest.raises(ProcessError, match="dies on left ended with status 7"):
            run_through(world)
        saved = log.read_text()

    assert course(world)[-2:] == ["+dies", "stop"]
    assert saved.endswith("saved\n")


def test_an_interruption_stops_agents_in_order(tmp_path):
    with bare_world(tmp_path, program("agent")) as world:
        part = Part("agent", missing=lambda: world.troubles.append(Interrupted()) or "soon")
        world.components["agent"] = part
        with pytest.raises(Interrupted):
            run_through(world)
        assert not world.processes["agent"].alive

    assert course(world)[-1] == "stop"
    assert [(event.status, event.expected) for event in of_kind(world, ProcessEnded)] == [
        (-signal.SIGTERM, True)
    ]


def test_when_the_network_is_dead_agents_are_not_asked_to_save_anything(tmp_path):
    with bare_world(tmp_path, program("agent")) as world:
        world.troubles.append(WorldError("the delay line died"))
        with pytest.raises(WorldError):
            run_through(world)

    assert "stop" not in course(world)


def test_faults_are_healed_before_the_drain_begins(tmp_path):
    with bare_world(tmp_path, program("agent")) as world:
        run_through(world, PAUSE)

    wanted = (Phase, Inject, Heal)
    words = [
        getattr(event, "phase", type(event).__name__)
        for event in events_of(world)
        if isinstance(event, wanted)
    ]
    assert words[words.index("load") :] == ["load", "Inject", "heal", "Heal", "drain", "stop"]


def test_faults_are_healed_when_the_load_fails(tmp_path):
    dies = shell("dies", "exit 7", starts="load")
    with (
        bare_world(tmp_path, program("agent"), dies, duration_ns=60_000_000_000) as world,
        pytest.raises(ProcessError),
    ):
        run_through(world, PAUSE)

    kinds = [type(event) for event in events_of(world)]
    assert kinds.count(Heal) == kinds.count(Inject)


def test_a_drain_that_is_done_says_so_and_then_the_witness_runs(tmp_path):
    witness = shell("witness", "exit 0", starts="drain")
    with bare_world(tmp_path, witness) as world:
        run_through(world)

    assert len(of_kind(world, Drained)) == 1
    assert course(world)[-3:] == ["drain", "+witness", "stop"]


def test_a_drain_that_runs_out_of_time_records_what_it_waited_for_and_the_witness_still_runs(
    tmp_path,
):
    witness = shell("witness", "exit 0", starts="drain")
    slow = Part("reader", waits=(BEHIND,))
    with bare_world(tmp_path, witness, components=[slow], drain_limit_ns=MOMENT_NS) as world:
        run_through(world)

    assert [event.waits for event in of_kind(world, DrainIncomplete)] == [(BEHIND,)]
    assert of_kind(world, Drained) == []
    assert course(world)[-3:] == ["drain", "+witness", "stop"]


def test_a_component_in_the_wrong_state_after_the_drain_ends_the_run_before_the_witness(tmp_path):
    witness = shell("witness", "exit 0", starts="drain")
    wrong = Part("web", final="web has ended, but the declaration says `ends: running`")
    with (
        bare_world(tmp_path, witness, components=[wrong]) as world,
        pytest.raises(ProcessError, match="ends: running"),
    ):
        run_through(world)

    assert course(world)[-2:] == ["drain", "stop"]


def test_a_witness_that_does_not_end_is_recorded_and_stopped(tmp_path, monkeypatch):
    monkeypatch.setattr(conductor, "WITNESS_S_MAX", 0.02)
    with bare_world(tmp_path, program("witness", starts="drain")) as world:
        run_through(world)
        assert not world.processes["witness"].alive

    (incomplete,) = of_kind(world, WitnessIncomplete)
    assert (incomplete.processes, incomplete.limit_s) == (("witness",), 0.02)


def test_servers_outlive_the_agents_that_are_stopped(tmp_path):
    server = Part("kafka", server=True)
    specs = [program("kafka/left", component="kafka"), program("poet")]
    with bare_world(tmp_path, *specs, components=[server]) as world:
        run_through(world)
        assert world.processes["kafka/left"].alive
        assert not world.processes["poet"].alive


@pytest.fixture
def unbuilt(tmp_path, monkeypatch):
    """A plan whose world is not made of namespaces; SIGTERM is as before afterwards."""
    before = signal.getsignal(signal.SIGTERM)

    @contextlib.contextmanager
    def bare(plan, parts, events, troubles):
        with bare_world(tmp_path, program("agent")) as world:
            world.troubles = troubles
            yield world

    @contextlib.contextmanager
    def nothing(world):
        yield

    monkeypatch.setattr(conductor, "live_world", bare)
    monkeypatch.setattr(conductor, "calibrate", lambda world: None)
    monkeypatch.setattr(conductor, "run_sampler", nothing)
    (tmp_path / "history").mkdir()
    yield small_plan(tmp_path, notes=("another run is active",))
    signal.signal(signal.SIGTERM, before)


def test_a_run_begins_with_its_notes_and_the_wall_clock_and_ends_with_both_clocks(unbuilt):
    conduct(unbuilt)

    events = read_events(Path(unbuilt.directory))
    assert [type(event) for event in events[:3]] == [Phase, Clock, Note]
    assert events[2].says == "another run is active"
    assert [type(event) for event in events[-2:]] == [Phase, Clock]
    assert (events[0].phase, events[-2].phase) == ("build", "destroy")


def test_a_network_that_cannot_be_built_is_destroyed_in_the_record_too(unbuilt, monkeypatch):
    @contextlib.contextmanager
    def refuse(plan, parts, events, troubles):
        raise WorldError("no namespaces")
        yield

    monkeypatch.setattr(conductor, "live_world", refuse)
    with pytest.raises(WorldError, match="no namespaces"):
        conduct(unbuilt)

    phases = [event.phase for event in read_events(Path(unbuilt.directory)) if type(event) is Phase]
    assert phases == ["build", "destroy"]


def test_sigterm_interrupts_a_run_where_it_waits(unbuilt, monkeypatch):
    def interrupt(world):
        os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(conductor, "calibrate", interrupt)
    with pytest.raises(Interrupted):
        conduct(unbuilt)

    phases = [event.phase for event in read_events(Path(unbuilt.directory)) if type(event) is Phase]
    assert phases == ["build", "start", "stop", "destroy"]


@pytest.mark.parametrize(("outside", "reroutes"), [(True, True), (True, False), (False, False)])
def test_links_are_routed_around_only_where_that_is_declared_and_there_are_links(
    tmp_path, outside, reroutes
):
    with bare_world(tmp_path, outside=outside, reroutes=reroutes) as world:
        assert isinstance(conductor._rerouting(world), contextlib.nullcontext)


def test_parts_of_a_declaration_are_made_once_for_a_run(unbuilt, monkeypatch):
    made = []

    def parts_of(declaration):
        made.append(now_ns())
        return DeclaredParts(components={}, faults=())

    monkeypatch.setattr(conductor, "declared_parts_of", parts_of)
    conduct(unbuilt)

    assert len(made) == 1
