"""The live World: hosts and wires from net, processes, and what agents report."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from streambed.errors import ProcessError, WorldError
from streambed.kinds.cast import Cast
from streambed.kinds.components import roles
from streambed.kinds.faults.of_links import meant
from streambed.net.network import Network, network
from streambed.net.open_network import open_network
from streambed.plan import Plan, ProcessSpec
from streambed.record import file_name, now_ns, wait_for_an_end, wait_until
from streambed.record.event_log import EventLog
from streambed.record.events import DelayLine, Timer, Timers
from streambed.record.gauges import Gauge, read_gauge
from streambed.runner.process import RESTARTS_MAX, LiveProcess
from streambed.runner.visits.namespaces import note_namespaces
from streambed.units import Size
from streambed.world import Heal, Wire

Answer = TypeVar("Answer")
STOP_S = 3.0
TROUBLES_S_MAX = 0.5
"""So late may be noticed that something went wrong in another thread."""
MOMENT_NS = 200_000_000
"""So long an answer to who holds a role is believed."""
KERNEL_TIMERS = ("tcp_retries2", "tcp_syn_retries", "tcp_rto_min_us", "tcp_rto_max_ms")
"""How often and how late TCP sends again what was lost; older kernels lack the last two."""


class Interrupted(BaseException):
    """The user wants the run to end now."""


class LiveWorld:
    """A plan made real; what components, faults and probes ask of it is in world.World."""

    def __init__(
        self, plan: Plan, cast: Cast, made: Network, events: EventLog, troubles: list[BaseException]
    ) -> None:
        self.plan = plan
        self.directory = Path(plan.directory)
        self.network = made
        self.record = events.record
        self.processes = {spec.name: self._process(spec) for spec in plan.processes}
        self.troubles = troubles
        """What went wrong in other threads, or that the user wants no more; whoever watches raises
        it.
        """
        self.links_changed: Callable[[], None] = lambda: None
        """Called after faults come or go, by whoever wants to know."""
        self.components = cast.components
        for (
            name
        ) in self.components:  # Also of those that start no process: a store may be a file there.
            (self.directory / "data" / name).mkdir(parents=True, exist_ok=True)
        self._kept: dict[str, Any] = {}
        self._holders: dict[str, tuple[int, str]] = {}

    def _process(self, spec: ProcessSpec) -> LiveProcess:
        networks = {host: self.network.hosts[host].namespace for host in spec.networks}
        return LiveProcess(
            spec, self.network.hosts[spec.node], self.directory, self.record, networks
        )

    def find(self, target: str) -> LiveProcess:
        """The process called so, or the only process of the component called so, on a host if that
        is named.
        """
        component, _, node = target.partition("/")
        found = [
            process
            for process in self.processes.values()
            if process.name == target
            or (
                process.spec.component == component
                and (not node or node in (process.spec.node, *process.spec.networks))
            )
        ]
        if len(found) != 1:
            raise WorldError(f"'{target}' names {len(found)} processes, one was wanted")
        return found[0]

    def holder(self, role: str) -> str:
        """The process that holds a role at this moment."""
        wanted = roles.role(role)
        if wanted is None:
            raise WorldError(f"'{role}' is not a role")
        asked_ns, holder = self._holders.get(role, (0, ""))
        if now_ns() - asked_ns > MOMENT_NS:
            holder = roles.broker_for(wanted, self.components).role_holder(wanted, self)
            self._holders[role] = (now_ns(), holder)
        return holder

    def wires_named(self, link: tuple[str, ...]) -> Sequence[Wire]:
        """Every wire between two nodes, or the one of that name."""
        return [self.network.wires[name] for name in meant(link, self.network.wires)]

    def wires_of(self, node: str) -> Sequence[Wire]:
        """Every wire that ends at a node."""
        return [wire for wire in self.network.wires.values() if node in wire.ends]

    def separate(self, sides: Sequence[Sequence[str]]) -> Heal:
        """Let no packet pass between hosts of different sides until healed."""
        return self.network.separate(sides)

    def call(self, node: str, function: Callable[[], Answer]) -> Answer:
        """Call `function` inside the host of `node`."""
        return self.network.hosts[node].call(function)

    def gauge(self, process: str) -> Gauge | None:
        """The newest gauge that an agent wrote; None before the first."""
        return read_gauge(self.directory / "gauges" / f"{file_name(process)}.json")

    def keep(self, key: str, make: Callable[[], Answer]) -> Answer:
        """What `make` made when first asked for `key`."""
        if key not in self._kept:
            self._kept[key] = make()
        kept: Answer = self._kept[key]
        return kept

    def watch(self) -> None:
        """Notice what died since the last look; a death that the declaration does not allow ends
        the run.
        """
        self.watch_network()
        for process in self.processes.values():
            status = process.ended()
            if status is None:
                continue
            if process.spec.on_exit == "restart" and process.incarnation <= RESTARTS_MAX:
                process.start()
            elif process.spec.on_exit != "record":
                raise ProcessError(death(process, status, self.plan))

    def watch_network(self) -> None:
        """A run whose delay line or sampler died, or that is no longer wanted, is over, whatever
        its phase. Raises each trouble once.
        """
        if self.troubles:
            raise self.troubles.pop(0)
        line = self.network.delay_line
        if line and line.poll() is not None:
            raise WorldError(
                "the delay line died: every emulated link is dead, so the run cannot be believed"
            )

    def wait(self, done: Callable[[], bool], *, limit_s: float, step_s: float = 0.02) -> bool:
        """Wait for a condition while watching that everybody lives."""

        def done_or_dead() -> bool:
            self.watch()
            return done()

        return wait_until(done_or_dead, limit_s=limit_s, step_s=step_s)

    def rest_until(self, time_ns: int) -> None:
        """Wait for a time while watching that everybody lives: a death is noticed at once, other
        troubles soon.
        """
        while (left_ns := time_ns - now_ns()) > 0:
            self.watch()
            line = self.network.delay_line
            pids = [process.pid for process in self.processes.values() if process.pid]
            wait_for_an_end(
                [*pids, line.pid] if line else pids, limit_s=min(left_ns / 1e9, TROUBLES_S_MAX)
            )

    def stop(self, processes: list[LiveProcess]) -> None:
        """Ask politely, then insist."""
        for process in processes:
            process.terminate()

        def all_ended() -> bool:
            self.watch_network()
            return not any(process.alive for process in processes)

        wait_until(all_ended, limit_s=STOP_S)
        for process in processes:
            process.kill()

    def end(self) -> None:
        """End whatever still runs, all at once: a server with a large heap takes a while to be
        gone, and many would take turns.
        """
        for process in self.processes.values():
            process.strike_down()
        for process in self.processes.values():
            process.kill()


def death(process: LiveProcess, status: int, plan: Plan) -> str:
    """The evidence: exit status, last output, where the whole log is."""
    how = f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"
    if process.memory_kills:
        cap = _memory_cap(process.spec, plan)
        how = f"was killed for memory: {cap}. Raise that, or let it need less"
    last = "".join(f"\n  | {line}" for line in process.last_lines())
    return (
        f"{process.name} on {process.spec.node} {how}. Its last lines (all in {process.log}):{last}"
    )


def _memory_cap(spec: ProcessSpec, plan: Plan) -> str:
    if spec.allowance.memory_bytes:
        size = Size(spec.allowance.memory_bytes)
        return f"components.{spec.component}.limits.memory allows it {size}"
    size = Size(plan.node(spec.node).allowance.memory_bytes)
    return f"topology.memory allows the processes of {spec.node} {size} all together"


def timers(world: LiveWorld) -> tuple[Timer, ...]:
    """The settings that decide how a fault ends: of TCP as a host sees it, and of servers, declared
    or by their own default.
    """
    files = [Path("/proc/sys/net/ipv4", name) for name in KERNEL_TIMERS]

    def of_kernel() -> list[Timer]:
        return [
            Timer(of="kernel", name=file.name, value=int(file.read_text()), declared=False)
            for file in files
            if file.exists()
        ]

    found = world.call(world.plan.nodes[0].name, of_kernel)
    for name, component in world.components.items():
        for setting, (value, declared) in component.timers().items():
            found.append(Timer(of=name, name=setting, value=value, declared=declared))
    return tuple(found)


@contextlib.contextmanager
def live_world(
    plan: Plan, cast: Cast, events: EventLog, troubles: list[BaseException]
) -> Iterator[LiveWorld]:
    """Build the network of a plan; on every way out its processes end and the network goes."""
    with open_network(plan) if plan.outside else network(plan, Path(plan.directory)) as made:
        world = LiveWorld(plan, cast, made, events, troubles)
        note_namespaces(world.directory, made.hosts)
        events.record(Timers(timers=timers(world)))
        if made.delay_line_runs:
            events.record(DelayLine(runs=made.delay_line_runs))
        try:
            yield world
        finally:
            world.end()
