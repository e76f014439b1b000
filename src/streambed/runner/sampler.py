"""The sampler measures ports, processes, agents, the delay line and the machine once a second."""

from __future__ import annotations

import contextlib
import os
import threading
from collections import defaultdict
from collections.abc import Iterator

from streambed.kinds.components.engine import engines_among
from streambed.net.ports import METRICS
from streambed.record import now_ns
from streambed.record.ledger.schemas import SAMPLES
from streambed.record.tables import Table, column
from streambed.runner.live_world import LiveWorld
from streambed.runner.machine_load import machine_load, waiting_times

EVERY_S = 1.0
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
Measured = tuple[str, str, float]


def processes_by_session(apart: int | None) -> dict[int, tuple[float, int]]:
    """CPU seconds (with ended children) and resident bytes of every session in the box.

    The process `apart` counts as a session by itself.
    Session 0 holds the processes whose session began outside this PID namespace.
    """
    usage: dict[int, tuple[float, int]] = defaultdict(lambda: (0.0, 0))
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/stat") as file:
                fields = file.read().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue  # It ended between the listing and the reading.
        pid = int(entry)
        session = apart if pid == apart else int(fields[3])
        # Not the conductor's children: they are the run's processes.
        ticks = fields[11:13] if pid == os.getpid() else fields[11:15]
        cpu_s = sum(map(int, ticks)) / TICKS_PER_S
        resident_bytes = int(fields[21]) * PAGE_BYTES
        session_cpu_s, session_bytes = usage[session]
        usage[session] = (session_cpu_s + cpu_s, session_bytes + resident_bytes)
    return usage


class Sampler:
    """Runs in a separate thread, so that measuring does not delay faults."""

    def __init__(self, world: LiveWorld, table: Table) -> None:
        self._world = world
        self._engines = engines_among(world.components)
        self._table = table
        ports = world.network.ports.names
        self._port_columns = (
            column(METRICS * len(ports)),
            column([port for port in ports for _ in METRICS]),
        )
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="sampler")
        self._gauge_ns = 0

    def _run(self) -> None:
        try:
            due_ns = now_ns() + round(EVERY_S * 1e9)
            while not self._stop.wait(EVERY_S):
                self._table.append(
                    now_ns(), "sampler_late_s", "machine", max(0, now_ns() - due_ns) / 1e9
                )
                self.sample()
                due_ns = now_ns() + round(EVERY_S * 1e9)
        except Exception as error:  # A run must not continue without samples.
            self._world.troubles.append(error)

    def sample(self) -> None:
        """Measure everything now."""
        time_ns = now_ns()
        self._sample_ports(time_ns)
        for metric, of, value in (*self._processes(), *self._agents(), *self._machine()):
            self._table.append(time_ns, metric, of, value)
        self._delay_line()
        self._table.flush()
        self._batches()

    def _sample_ports(self, time_ns: int) -> None:
        """Append all ports at once: there may be thousands of values, and only they change."""
        values = self._world.network.ports.read()
        self._table.append_columns([time_ns] * len(values), *self._port_columns, values)

    def _processes(self) -> Iterator[Measured]:
        names = {
            process.pid: process.name for process in self._world.processes.values() if process.pid
        }
        line = self._world.network.delay_line
        # The delay line shares the conductor's session, so that it dies with it.
        apart = line.pid if line else None
        names[os.getsid(0)] = "conductor"
        if apart is not None:
            names[apart] = "delay line"
        for session, (cpu_s, rss) in processes_by_session(apart).items():
            if session in names:
                yield "process_cpu_s", names[session], cpu_s
                yield "process_rss_bytes", names[session], rss

    def _agents(self) -> Iterator[Measured]:
        for name in self._world.processes:
            gauge = self._world.gauge(name)
            for key, metric in gauge.METRICS.items() if gauge else ():
                yield metric, name, getattr(gauge, key)

    def _machine(self) -> Iterator[Measured]:
        if line := self._world.network.delay_line:
            for metric, value in waiting_times(line.pid):
                yield metric, "delay line", value
        for metric, value in machine_load():
            yield metric, "machine", value

    def _delay_line(self) -> None:
        """Append each gauge of the delay line once, with the time at which it was written."""
        for gauge in self._world.network.delay_line_gauges():
            if gauge.written_ns <= self._gauge_ns:
                continue
            self._gauge_ns = gauge.written_ns
            for key, metric in gauge.METRICS.items():
                self._table.append(gauge.written_ns, metric, "delay line", getattr(gauge, key))

    def _batches(self) -> None:
        for engine in self._engines.values():
            for batch in engine.batches(self._world):
                self._world.record(batch)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def finish(self) -> None:
        """End the thread and sample once more."""
        self._stop.set()
        self._thread.join()
        self.sample()


@contextlib.contextmanager
def run_sampler(world: LiveWorld) -> Iterator[Sampler]:
    """Sample during the block."""
    with Table(world.directory / "history" / "samples.arrow", SAMPLES) as table:
        sampler = Sampler(world, table)
        sampler.start()
        try:
            yield sampler
        finally:
            sampler.finish()
