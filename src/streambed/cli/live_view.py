"""What a user sees during a run: a line for each event, progress, and a table of current rates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.table import Table
from rich.text import Text

from streambed.kinds.components.broker import brokers_among
from streambed.kinds.declared_parts import components_of
from streambed.plan import Plan
from streambed.record import EVENTS, file_name, now_ns
from streambed.record.event_log import event_of
from streambed.record.events import Event, Phase, ProcessEnded, Ready
from streambed.record.gauges import Gauge, ProducerGauge, ReaderGauge, read_gauge
from streambed.results.runs import Run
from streambed.units import clock as clock_of
from streambed.units import count_of
from streambed.wording import line_about

RATE_NS_MIN = 900_000_000
SAY_NS = 10_000_000_000
"""How often progress is printed where there is no terminal."""
NAMES_SHOWN = 4
OUTPUT_FIRST, OUTPUT_LAST = 8, 16
"""How many lines of a program are printed at first, and how many at the end."""
STARTING = ("build", "start", "servers", "ready")
ENDING = ("stop", "destroy")
"""Phases in which every process ends."""


def headline(plan: Plan) -> str:
    """The experiment in one line."""
    hosts = sum(not node.switch for node in plan.nodes)
    clusters = brokers_among(components_of(plan.declaration)).values()
    brokers = sum(len(cluster.nodes) for cluster in clusters)
    where = f"{count_of(hosts, 'host')}, {count_of(brokers, 'broker')}"
    if plan.outside:
        where = "outside any box"
    faults = count_of(len(plan.declaration["faults"]), "fault")
    return f"{plan.name}: {where}, {faults}, {plan.duration_ns / 1e9:g} s, seed {plan.seed}"


class Growing:
    """A file to which other processes append lines."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._at = 0

    def new(self) -> list[bytes]:
        """The whole lines that were added since the last call."""
        if not self._path.exists():
            return []
        with self._path.open("rb") as file:
            file.seek(self._at)
            whole, newline, _ = file.read().rpartition(b"\n")
        self._at += len(whole) + len(newline)
        return whole.splitlines()


class Happenings:
    """The events of a run as lines for people, each given once."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._events = Growing(Path(plan.directory) / "history" / EVENTS)
        self.phase = "build"
        self.start_ns: int | None = None
        """When the run began."""
        self.phase_ns = 0
        """When the phase began."""
        self.ready: set[str] = set()
        """The components that are ready."""

    def new(self) -> Iterator[str]:
        """The lines of what happened since the last call."""
        for event in map(event_of, self._events.new()):
            self.start_ns = self.start_ns or event.time
            if isinstance(event, Phase):
                self.phase, self.phase_ns = event.phase, event.time
            if isinstance(event, Ready):
                self.ready.add(event.component)
            line = self._line(event)
            if line:
                yield f"{clock(event.time - self.start_ns)} {line}"

    def _line(self, event: Event) -> str:
        """The line for an event; empty for what happens in every run."""
        if isinstance(event, Phase):
            if event.phase == "heal" and not self._plan.declaration["faults"]:
                return ""
            return f"{event.phase:<8} {self._about(event.phase)}".rstrip()
        if isinstance(event, ProcessEnded) and event.expected and self.phase in ENDING:
            return ""
        return line_about(event)

    def _about(self, phase: str) -> str:
        if phase == "build":
            if self._plan.outside:
                return f"{len(self._plan.nodes)} names for this machine"
            nodes, links = len(self._plan.nodes), len(self._plan.links)
            means = self._plan.machine.means.replace("_", " ")
            return f"{nodes} nodes, {links} wires, delays by {means}"
        if phase == "start":
            at_once = sum(spec.starts == "start" for spec in self._plan.processes)
            return f"{count_of(at_once, 'process', 'es')} at once"
        return {
            "servers": "waiting for servers",
            "ready": "waiting for jobs and clients",
            "load": f"for {self._plan.duration_ns / 1e9:g} s",
        }.get(phase, "")


class Progress:
    """How far a run is, in one line."""

    def __init__(self, plan: Plan, happenings: Happenings) -> None:
        self._plan = plan
        self._happenings = happenings
        self._components = set(components_of(plan.declaration))
        self._said_ns = now_ns()

    def due(self) -> bool:
        """Whether it is time for a plain line; counts from the last call that said so."""
        if now_ns() - self._said_ns < SAY_NS:
            return False
        self._said_ns = now_ns()
        return True

    def line(self) -> str:
        """The phase, how long it has lasted, and how long it may still take."""
        now, happenings = now_ns(), self._happenings
        if happenings.start_ns is None:
            return ""
        phase_s = (now - happenings.phase_ns) / 1e9
        about = self._about(happenings.phase, phase_s)
        return f"{clock(now - happenings.start_ns)} {happenings.phase:<8} {about}"

    def _about(self, phase: str, phase_s: float) -> str:
        if phase in STARTING:
            waiting = sorted(self._components - self._happenings.ready)
            limit_s = self._plan.ready_limit_ns / 1e9
            names = ", ".join(waiting[:NAMES_SHOWN]) + (", …" if len(waiting) > NAMES_SHOWN else "")
            return f"{phase_s:.0f} s of at most {limit_s:.0f} s, not ready yet: {names}"
        if phase == "load":
            load_s = self._plan.duration_ns / 1e9
            left_s = max(0.0, load_s - phase_s)
            share = bar(phase_s / load_s if load_s else 1.0)
            return f"{share} {min(phase_s, load_s):.0f} of {load_s:g} s, {left_s:.0f} s left"
        if phase == "drain":
            limit_s = self._plan.drain_limit_ns / 1e9
            return f"{phase_s:.0f} s of at most {limit_s:.0f} s, until every reader has caught up"
        return f"{phase_s:.0f} s"


def bar(share: float) -> str:
    """A share as a bar of ten characters."""
    filled = min(10, max(0, int(share * 10)))
    return "█" * filled + "░" * (10 - filled)


class Output:
    """The first and last lines of each program whose output is shown. Its log has all lines.

    A table that a program prints every second would bury the run's own lines.
    """

    def __init__(self, plan: Plan, *, first: int = OUTPUT_FIRST) -> None:
        self._first = first
        self._logs: dict[str, Growing] = {}
        for name, component in components_of(plan.declaration).items():
            if component.shows_output:
                log = Path(plan.directory) / "logs" / f"{file_name(name)}.log"
                self._logs[name] = Growing(log)
        self._count = dict.fromkeys(self._logs, 0)
        self._last: dict[str, list[str]] = {name: [] for name in self._logs}

    def new(self) -> list[str]:
        """The lines to print since the last call."""
        lines = []
        for name, log in self._logs.items():
            for raw in log.new():
                line = f"{name} | {raw.decode(errors='replace')}"
                self._last[name] = [*self._last[name], line][-OUTPUT_LAST:]
                self._count[name] += 1
                if self._count[name] <= self._first:
                    lines.append(line)
                elif self._count[name] == self._first + 1 and self._first:
                    lines.append(
                        f"{name} | … more at the end; all of it: streambed logs -f latest {name}"
                    )
        return lines

    def last(self) -> list[str]:
        """The last lines of every program."""
        return [line for lines in self._last.values() for line in lines]

    def rest(self) -> list[str]:
        """At the end: the last lines of programs that printed more than was shown."""
        lines = []
        for name, last in self._last.items():
            hidden = self._count[name] - self._first
            lines += last[max(0, len(last) - hidden) :] if hidden > 0 else []
        return lines


def clock(elapsed_ns: int) -> str:
    """A time of a run as minutes and seconds, in a column."""
    return f"{clock_of(elapsed_ns / 1e9):>6}"


@dataclass(frozen=True, kw_only=True)
class Totals:
    """Sums over all agents of a component; None for what they do not count."""

    records: int = 0
    failed: int | None = None
    lag: int | None = None


def _totals(gauges: Sequence[Gauge | None]) -> Totals:
    producers = [gauge for gauge in gauges if isinstance(gauge, ProducerGauge)]
    readers = [gauge for gauge in gauges if isinstance(gauge, ReaderGauge)]
    if producers:
        return Totals(
            records=sum(gauge.acked for gauge in producers),
            failed=sum(gauge.failed for gauge in producers),
        )
    if readers:
        return Totals(
            records=sum(gauge.seen for gauge in readers), lag=sum(gauge.lag for gauge in readers)
        )
    return Totals()


def _count_text(count: int | None) -> str:
    return "" if count is None else str(count)


class Flow:
    """Current totals and rates of every component, from the gauges of its agents."""

    def __init__(self, run: Run, plan: Plan) -> None:
        self._run = run
        flowing = [
            name
            for name, component in components_of(plan.declaration).items()
            if component.shows_flow
        ]
        self._agents = {
            name: [
                file_name(process.name) for process in plan.processes if process.component == name
            ]
            for name in flowing
        }
        self._before: dict[str, tuple[int, int]] = {}
        self._rates: dict[str, float] = {}

    def table(self, title: str) -> Table:
        """One row for each producer and consumer."""
        table = Table(title=Text(title), box=None, pad_edge=False, title_justify="left")
        for heading in ("", "records", "records/s", "failed", "lag"):
            table.add_column(heading, justify="left" if not heading else "right")
        for name, agents in self._agents.items():
            folder = self._run.directory / "gauges"
            totals = _totals([read_gauge(folder / f"{agent}.json") for agent in agents])
            rate = self._rate(name, totals.records)
            table.add_row(
                name,
                str(totals.records),
                f"{rate:.0f}",
                _count_text(totals.failed),
                _count_text(totals.lag),
            )
        return table

    def _rate(self, name: str, total: int) -> float:
        now = now_ns()
        then, before = self._before.get(name, (0, 0))
        if now - then >= RATE_NS_MIN:
            self._rates[name] = (total - before) / (now - then) * 1e9 if then else 0.0
            self._before[name] = (now, total)
        return self._rates.get(name, 0.0)
