"""What a user sees during a run: a line for each event, and a table of current rates."""

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
from streambed.record.events import Event, Phase
from streambed.record.gauges import Gauge, ProducerGauge, ReaderGauge, read_gauge
from streambed.results.runs import Run
from streambed.wording import line_about

RATE_NS_MIN = 900_000_000


def headline(plan: Plan) -> str:
    """The experiment in one line."""
    hosts = sum(not node.switch for node in plan.nodes)
    clusters = brokers_among(components_of(plan.declaration)).values()
    brokers = sum(len(cluster.nodes) for cluster in clusters)
    where = f"{_count(hosts, 'host')}, {_count(brokers, 'broker')}"
    if plan.outside:
        where = "outside any box"
    faults = _count(len(plan.declaration["faults"]), "fault")
    return f"{plan.name}: {where}, {faults}, {plan.duration_ns / 1e9:g} s, seed {plan.seed}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


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
        directory = Path(plan.directory)
        self._events = Growing(directory / "history" / EVENTS)
        shown = [
            name
            for name, component in components_of(plan.declaration).items()
            if component.shows_output
        ]
        self._shown = {
            name: Growing(directory / "logs" / f"{file_name(name)}.log") for name in shown
        }
        self._start_ns: int | None = None
        self.phase = "build"

    def new(self) -> Iterator[str]:
        """The lines of what happened since the last call."""
        yield from self._output()
        for event in self._unread():
            self._start_ns = self._start_ns or event.time
            if isinstance(event, Phase):
                self.phase = event.phase
                line = f"{event.phase:<8} {self._about(event.phase)}".rstrip()
            else:
                line = line_about(event)
            if line:
                yield f"{clock(event.time - self._start_ns)} {line}"

    def _unread(self) -> Iterator[Event]:
        return map(event_of, self._events.new())

    def _output(self) -> Iterator[str]:
        """New output of programs whose output is shown."""
        for name, log in self._shown.items():
            yield from (f"{name} | {line.decode(errors='replace')}" for line in log.new())

    def _about(self, phase: str) -> str:
        if phase == "build":
            if self._plan.outside:
                return f"{len(self._plan.nodes)} names for this machine"
            nodes, links = len(self._plan.nodes), len(self._plan.links)
            means = self._plan.machine.means.replace("_", " ")
            return f"{nodes} nodes, {links} wires, delays by {means}"
        if phase == "start":
            return (
                f"{sum(spec.starts == 'start' for spec in self._plan.processes)} processes at once"
            )
        return {
            "servers": "waiting for servers",
            "ready": "waiting for jobs and clients",
            "load": f"for {self._plan.duration_ns / 1e9:g} s",
        }.get(phase, "")


def clock(elapsed_ns: int) -> str:
    """A time of a run as minutes and seconds."""
    minutes, seconds = divmod(int(elapsed_ns / 1e9), 60)
    return f"{minutes:>3}:{seconds:02}"


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


def _shown(count: int | None) -> str:
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

    def table(self, phase: str) -> Table:
        """One row for each producer and consumer."""
        table = Table(title=Text(phase), box=None, pad_edge=False, title_justify="left")
        for heading in ("", "records", "records/s", "failed", "lag"):
            table.add_column(heading, justify="left" if not heading else "right")
        for name, agents in self._agents.items():
            folder = self._run.directory / "gauges"
            totals = _totals([read_gauge(folder / f"{agent}.json") for agent in agents])
            rate = self._rate(name, totals.records)
            table.add_row(
                name, str(totals.records), f"{rate:.0f}", _shown(totals.failed), _shown(totals.lag)
            )
        return table

    def _rate(self, name: str, total: int) -> float:
        now = now_ns()
        then, before = self._before.get(name, (0, 0))
        if now - then >= RATE_NS_MIN:
            self._rates[name] = (total - before) / (now - then) * 1e9 if then else 0.0
            self._before[name] = (now, total)
        return self._rates.get(name, 0.0)
