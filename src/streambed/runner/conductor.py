"""The conductor carries out one plan inside the box, phase by phase, and records what happens.

Checks judge the record later.
"""

from __future__ import annotations

import signal
import time
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from streambed.errors import ProcessError
from streambed.kinds.declared_parts import declared_parts_of
from streambed.plan import Plan, Starts
from streambed.record import EVENTS, TEMPORARY, now_ns
from streambed.record.event_log import EventLog
from streambed.record.events import (
    Clock,
    Drained,
    DrainIncomplete,
    Note,
    Phase,
    Ready,
    WitnessIncomplete,
)
from streambed.record.gates import LoadBegins, ServersReady, open_gate
from streambed.runner import captures
from streambed.runner.batch_watch import watch_batches
from streambed.runner.broker_watch import watch_brokers
from streambed.runner.calibration.calibration import calibrate
from streambed.runner.drain import Drain, final_states
from streambed.runner.live_world import Interrupted, LiveWorld, live_world
from streambed.runner.sampler import run_sampler
from streambed.runner.timeline.timeline import Timeline, timeline
from streambed.runner.visits.exposure import forward_exposed_ports
from streambed.world import Missing

LEAD_NS = 50_000_000
"""Time from opening the gate to the first record due, so that every producer sees the gate."""
WITNESS_S_MAX = 120.0
SERVE_NS = 3600 * 10**9


def conduct(plan: Plan) -> None:
    """Carry out one run and record its events."""
    troubles: list[BaseException] = []
    # An interruption is raised where the run waits, so that nothing is left half done.
    signal.signal(signal.SIGTERM, lambda number, frame: troubles.append(Interrupted()))
    parts = declared_parts_of(plan.declaration)
    events = EventLog(Path(plan.directory) / "history" / EVENTS)
    events.record(Phase(phase="build"))
    events.record(Clock(wall_ns=time.time_ns()))
    for note in plan.notes:
        events.record(Note(says=note))
    try:
        with live_world(plan, parts, events, troubles) as world:
            calibrate(world)  # Before anything else uses the CPU.
            with (
                forward_exposed_ports(world),
                run_sampler(world),
                _rerouting(world),
                timeline(parts.faults, plan.injections, world) as faults,
            ):
                conduct_in(world, faults)
    finally:
        events.record(Phase(phase="destroy"))
        events.record(Clock(wall_ns=time.time_ns()))
        events.close()


def serve(plan: Plan) -> None:
    """Run servers until the user interrupts or one of them dies; see runner/up."""
    troubles: list[BaseException] = []
    signal.signal(signal.SIGTERM, lambda number, frame: troubles.append(Interrupted()))
    events = EventLog(Path(plan.directory) / "history" / EVENTS)
    parts = declared_parts_of(plan.declaration)
    with live_world(plan, parts, events, troubles) as world:
        start(world, "start")
        ready(world)
        try:
            while True:
                world.rest_until(now_ns() + SERVE_NS)
        except Interrupted:
            if not (world.directory / TEMPORARY).exists():
                world.stop(list(world.processes.values()))  # Data that are kept should be whole.
            raise


def conduct_in(world: LiveWorld, faults: Timeline) -> None:
    """Run all phases from start to stop in a world that has been built."""
    try:
        start(world, "start")
        ready(world)
        record_state(world)
        with watch_brokers(world), watch_batches(world):
            load(world, faults, world.plan.duration_ns)
            drain(world)
    except (Interrupted, ProcessError):
        stop(world)  # The network still works, so agents can flush their records.
        raise
    stop(world)


def _rerouting(world: LiveWorld) -> AbstractContextManager[None]:
    """Reroute around failed links if that is declared; only then the slow import is needed."""
    if world.plan.outside or not world.plan.reroutes:
        return nullcontext()
    from streambed.runner.rerouting import reroute_on_failure

    return reroute_on_failure(world)


def start(world: LiveWorld, phase: Starts) -> None:
    """Record a phase and start its processes; each waits for what it needs."""
    world.record(Phase(phase=phase))
    start_processes(world, phase)


def start_processes(world: LiveWorld, phase: Starts) -> None:
    """Start the processes of a phase."""
    for process in world.processes.values():
        if process.spec.starts == phase:
            process.start()


def ready(world: LiveWorld) -> None:
    """Wait until servers are ready, then until all other components are."""
    end_ns = now_ns() + world.plan.ready_limit_ns
    await_all(world, captures.readiness(world), end_ns)
    components = world.components.values()
    servers = [component for component in components if component.server]
    others = [component for component in components if not component.server]
    world.record(Phase(phase="servers"))
    await_all(world, {server.name: server.readiness(world) for server in servers}, end_ns)
    open_gate(world.directory, ServersReady())
    start(world, "ready")
    await_all(world, {other.name: other.readiness(world) for other in others}, end_ns)


def await_all(world: LiveWorld, waits: dict[str, Missing], end_ns: int) -> None:
    """Wait until nothing is missing; each component's readiness is recorded when it comes."""
    began_ns = now_ns()

    def all_ready() -> bool:
        for name in [name for name, missing in waits.items() if not missing()]:
            del waits[name]
            world.record(Ready(component=name, seconds=round((now_ns() - began_ns) / 1e9, 3)))
        return not waits

    if not world.wait(all_ready, limit_s=(end_ns - now_ns()) / 1e9):
        raise ProcessError(
            "\n".join(_late(world, name, missing()) for name, missing in waits.items())
        )


def _late(world: LiveWorld, name: str, missing: str) -> str:
    last = ""
    for process in world.processes.values():
        if process.spec.component == name:
            last += "".join(f"\n  | {line}" for line in process.last_lines())
    limit_s = world.plan.ready_limit_ns / 1e9
    return (
        f"{name} was not ready within {limit_s:g} s: {missing}. "
        f"Raise `ready:` if it needs longer. Last lines:{last}"
    )


def load(world: LiveWorld, faults: Timeline, duration_ns: int) -> None:
    """Open the gate for producers, and inject and heal faults at their times."""
    start_ns = now_ns() + LEAD_NS
    world.record(Phase(phase="load"))
    begins = LoadBegins(
        start_ns=start_ns, report_ns=faults.report_ns, sync_points=faults.sync_points(start_ns)
    )
    open_gate(world.directory, begins)
    start_processes(world, "load")
    faults.follow(start_ns, start_ns + duration_ns)
    world.record(Phase(phase="heal"))
    faults.heal_all()


def drain(world: LiveWorld) -> None:
    """Wait until every reader has caught up; then run the witness and the commands of the drain."""
    began_ns = now_ns()
    world.record(Phase(phase="drain"))
    asked = Drain(world, tuple(world.components.values()))
    if world.wait(asked.done, limit_s=world.plan.drain_limit_ns / 1e9, step_s=0.1):
        world.record(Drained(seconds=round((now_ns() - began_ns) / 1e9, 3)))
    else:
        world.record(DrainIncomplete(waits=asked.waits))
    record_state(world)
    final_states(world, world.components.values())
    _run_drain_processes(world)


def _run_drain_processes(world: LiveWorld) -> None:
    """Run the witness and the commands of the drain to their ends."""
    processes = [process for process in world.processes.values() if process.spec.starts == "drain"]
    start_processes(world, "drain")

    def all_ended() -> bool:
        return not any(process.alive for process in processes)

    if not world.wait(all_ended, limit_s=WITNESS_S_MAX):
        running = tuple(process.name for process in processes if process.alive)
        world.record(WitnessIncomplete(processes=running, limit_s=WITNESS_S_MAX))


def record_state(world: LiveWorld) -> None:
    """Record the state of every component that has one, such as a Kafka cluster."""
    for component in world.components.values():
        for event in component.snapshot(world):
            world.record(event)


def stop(world: LiveWorld) -> None:
    """Stop agents and programs so that they save their records; servers end with the world."""
    world.record(Phase(phase="stop"))
    servers = {component.name for component in world.components.values() if component.server}
    world.stop(
        [process for process in world.processes.values() if process.spec.component not in servers]
    )
    captures.note_gaps(world)
