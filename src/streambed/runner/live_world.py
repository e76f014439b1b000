"""The live World: hosts and wires from net, processes, and what agents report."""

from __future__ import annotations

import contextlib
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from streambed.errors import ProcessError, WorldError
from streambed.kinds.components import roles
from streambed.kinds.declared_parts import DeclaredParts
from streambed.kinds.faults.of_links import links_named
from streambed.net.network import Network, network
from streambed.net.open_network import open_network
from streambed.net.tampering.disks import SmallDisk, small_disks
from streambed.plan import Plan, ProcessSpec
from streambed.record import file_name, now_ns, wait_for_an_end, wait_until
from streambed.record.event_log import EventLog
from streambed.record.events import DelayLine, Timer, Timers
from streambed.record.gauges import Gauge, combine_gauges, read_gauge
from streambed.runner.process import LiveProcess
from streambed.runner.visits.namespaces import note_namespaces
from streambed.units import Size
from streambed.world import Heal, Wire

Result = TypeVar("Result")
STOP_S = 3.0
TROUBLES_S_MAX = 0.5
"""Longest time a failure in another thread goes unnoticed."""
ROLE_CACHE_NS = 200_000_000
"""How long a role lookup is cached."""
KERNEL_TIMERS = ("tcp_retries2", "tcp_syn_retries", "tcp_rto_min_us", "tcp_rto_max_ms")
"""Settings of TCP's retransmissions; older kernels lack the last two."""


class Interrupted(BaseException):
    """The user interrupts the run."""


class LiveWorld:
    """A plan carried out with real processes and links; implements world.World."""

    def __init__(
        self,
        plan: Plan,
        parts: DeclaredParts,
        made: Network,
        events: EventLog,
        troubles: list[BaseException],
        disks: Mapping[str, SmallDisk] | None = None,
    ) -> None:
        self.plan = plan
        self.directory = Path(plan.directory)
        self.network = made
        self._disks = disks or {}
        self.record = events.record
        self.processes = {spec.name: self._process(spec) for spec in plan.processes}
        self.troubles = troubles
        """Errors of other threads, and interrupts; `watch_network` raises them."""
        self.links_changed: Callable[[], None] = lambda: None
        """Called after a fault was injected or healed."""
        self.components = parts.components
        # A component without processes has a data folder too: a store may be a file there.
        for name in self.components:
            (self.directory / "data" / name).mkdir(parents=True, exist_ok=True)
        self._cached: dict[str, Any] = {}
        self._caching = threading.RLock()
        self._holders: dict[str, tuple[int, str]] = {}
        self._asking: dict[str, threading.Lock] = defaultdict(threading.Lock)

    def _process(self, spec: ProcessSpec) -> LiveProcess:
        networks = {host: self.network.hosts[host].namespace for host in spec.networks}
        return LiveProcess(
            spec, self.network.hosts[spec.node], self.directory, self.record, networks
        )

    def find(self, target: str) -> LiveProcess:
        """The process named `target`, or the only process of COMPONENT or COMPONENT/NODE.

        Once a process that was replaced is dead, its successor.
        """
        if target in self.processes:
            successor = self.processes.get(successor_of(target))
            dead = not self.processes[target].alive
            return successor if successor and dead else self.processes[target]
        component, _, node = target.partition("/")

        def matches(process: LiveProcess) -> bool:
            if process.name == target:
                return True
            nodes = (process.spec.node, *process.spec.networks)
            return process.spec.component == component and (not node or node in nodes)

        matching = [process for process in self.processes.values() if matches(process)]
        if len(matching) != 1:
            raise WorldError(f"'{target}' names {len(matching)} processes, one was wanted")
        return matching[0]

    def start_beside(self, process: str) -> LiveProcess:
        """Start a second life of a process. Neither may end the run by its own end."""
        first = self.find(process)
        first.spec = replace(first.spec, on_exit="record")
        spec = replace(first.spec, name=successor_of(first.name), files=())
        second = self._process(spec)
        second.incarnation = first.incarnation  # A producer continues the numbers of its records.
        self.processes = {**self.processes, second.name: second}  # Others may be looping over it.
        second.start()
        return second

    def holder(self, role: str) -> str:
        """The process that holds a role at this moment."""
        wanted = roles.role(role)
        if wanted is None:
            raise WorldError(f"'{role}' is not a role")
        with self._asking[role]:  # A second thread waits for the answer to the first.
            asked_ns, holder = self._holders.get(role, (0, ""))
            if now_ns() - asked_ns > ROLE_CACHE_NS:
                holder = roles.holder_of(wanted, self)
                self._holders[role] = (now_ns(), holder)
            return holder

    def wires_named(self, link: tuple[str, ...]) -> Sequence[Wire]:
        """Every wire between two nodes, or the one of that name."""
        return [self.network.wires[name] for name in links_named(link, self.network.wires)]

    def wires_of(self, node: str) -> Sequence[Wire]:
        """Every wire that ends at a node."""
        return [wire for wire in self.network.wires.values() if node in wire.ends]

    def deafen(self, deaf: Mapping[str, Sequence[str]]) -> Heal:
        """Let each of these hosts drop what comes from the others until healed."""
        return self.network.deafen(deaf)

    def fill_disk(self, process: str) -> Heal:
        """Leave no space on the disk of a process until healed."""
        if process not in self._disks:
            raise WorldError(f"the disk of {process} has no limited size, so it cannot be filled")
        return self._disks[process].fill()

    def call(self, node: str, function: Callable[[], Result]) -> Result:
        """Call `function` inside the host of `node`."""
        return self.network.hosts[node].call(function)

    def gauge(self, process: str) -> Gauge | None:
        """The newest gauge that an agent wrote, with that of its successor; None before the
        first.
        """
        gauges = [
            read_gauge(self.directory / "gauges" / f"{file_name(name)}.json")
            for name in (process, successor_of(process))
            if name == process or name in self.processes
        ]
        written = [gauge for gauge in gauges if gauge]
        return combine_gauges(written) if len(written) > 1 else next(iter(written), None)

    def keep(self, key: str, make: Callable[[], Result]) -> Result:
        """The object cached under `key`; `make` is called only the first time."""
        with self._caching:
            if key not in self._cached:
                self._cached[key] = make()
            cached: Result = self._cached[key]
            return cached

    def watch(self) -> None:
        """Restart processes that died, or raise ProcessError, as the declaration says."""
        self.watch_network()
        for process in self.processes.values():
            status = process.ended()
            if status is None:
                continue
            if process.restarts:
                process.start()
            elif process.spec.on_exit != "record":
                raise ProcessError(death(process, status, self.plan, self._exit_reason(process)))

    def _exit_reason(self, process: LiveProcess) -> str:
        """Why a process ended, as its component knows; empty for processes of streambed itself."""
        component = self.components.get(process.spec.component)
        return component.exit_reason(self.directory, self.components) if component else ""

    def watch_network(self) -> None:
        """Raise what ends a run in any phase: interrupts, errors of threads, a dead delay line.

        Each error is raised once.
        """
        if self.troubles:
            raise self.troubles.pop(0)
        line = self.network.delay_line
        if line and line.poll() is not None:
            raise WorldError(
                "the delay line died: every emulated link is dead, so results are not valid"
            )

    def wait(self, done: Callable[[], bool], *, limit_s: float, step_s: float = 0.02) -> bool:
        """Wait for a condition while watching for dead processes."""

        def done_or_dead() -> bool:
            self.watch()
            return done()

        return wait_until(done_or_dead, limit_s=limit_s, step_s=step_s)

    def rest_until(self, time_ns: int) -> None:
        """Wait for a time while watching for dead processes.

        A death is noticed at once, other failures within TROUBLES_S_MAX.
        """
        while (left_ns := time_ns - now_ns()) > 0:
            self.watch()
            pids = [process.pid for process in self.processes.values() if process.pid]
            if line := self.network.delay_line:
                pids.append(line.pid)
            wait_for_an_end(pids, limit_s=min(left_ns / 1e9, TROUBLES_S_MAX))

    def stop(self, processes: list[LiveProcess]) -> None:
        """Stop processes with SIGTERM, and after STOP_S with SIGKILL."""
        for process in processes:
            process.send_sigterm()

        def all_ended() -> bool:
            self.watch_network()
            return not any(process.alive for process in processes)

        wait_until(all_ended, limit_s=STOP_S)
        for process in processes:
            process.kill_and_reap()

    def end(self) -> None:
        """Kill what still runs. All are signalled first: a large heap takes a while to be freed."""
        for process in self.processes.values():
            process.kill_at_once()
        for process in self.processes.values():
            process.kill_and_reap()


def successor_of(process: str) -> str:
    """The name of the second life of a process."""
    return f"{process}~2"


def death(process: LiveProcess, status: int, plan: Plan, reason: str = "") -> str:
    """The message for a dead process: exit status, reason, last output, path of the log."""
    how = f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"
    if process.memory_kills:
        cap = _memory_cap(process.spec, plan)
        how = f"was killed for memory: {cap}. Raise that, or let it need less"
    elif reason:
        how = f"{how}: {reason.rstrip('.')}"
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
    """The timers that decide how a fault ends: of the kernel's TCP and of servers."""
    files = [Path("/proc/sys/net/ipv4", name) for name in KERNEL_TIMERS]

    def of_kernel() -> list[Timer]:
        return [
            Timer(of="kernel", name=file.name, value=int(file.read_text()), declared=False)
            for file in files
            if file.exists()
        ]

    all_timers = world.call(world.plan.nodes[0].name, of_kernel)
    for name, component in world.components.items():
        for setting, (value, declared) in component.timers().items():
            all_timers.append(Timer(of=name, name=setting, value=value, declared=declared))
    return tuple(all_timers)


@contextlib.contextmanager
def live_world(
    plan: Plan, parts: DeclaredParts, events: EventLog, troubles: list[BaseException]
) -> Iterator[LiveWorld]:
    """Build the network of a plan; after the block processes are killed and the network removed."""
    with (
        small_disks(plan) as disks,
        open_network(plan) if plan.outside else network(plan, Path(plan.directory)) as made,
    ):
        world = LiveWorld(plan, parts, made, events, troubles, disks)
        note_namespaces(world.directory, made.hosts)
        events.record(Timers(timers=timers(world)))
        if made.delay_line_runs:
            events.record(DelayLine(runs=made.delay_line_runs))
        try:
            yield world
        finally:
            world.end()
