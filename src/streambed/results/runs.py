"""Runs on disk: find them, read them, judge them again, remove them."""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from html import escape
from pathlib import Path

import polars as pl

from streambed import plan
from streambed.errors import QueryError, UsageError, WorldError, suggestion
from streambed.kinds.check_table import CHECKS
from streambed.kinds.checks.check import Check
from streambed.kinds.checks.expected import as_expected
from streambed.kinds.declared_parts import components_of, revive
from streambed.kinds.evidence.course import downgrade_if_fault_missing
from streambed.record import EVENTS, codec, history, read_json, write_whole
from streambed.record import RUNS as RUNS
from streambed.record.event_log import event_of, read_events
from streambed.record.fidelity import Fidelity, fidelity
from streambed.record.history import History, Ledger, Verdict
from streambed.record.status import State, state_of
from streambed.results import frames
from streambed.results.batch_jobs import run_batch_jobs
from streambed.results.masking import Mask
from streambed.results.why import journey as journeys
from streambed.results.why.record_name import find_record

STAMP = "%Y%m%d-%H%M%S"
"""How the folder of a run is named after the time at which it began."""
STAMP_LENGTH = len("20260101-000000")
TAIL_BYTES = 1 << 16
COLOURS = {"holds": "#1a7f37", "fails": "#cf222e", "unknown": "#9a6700"}


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """What a run's history says: the verdicts of its checks, and its fidelity."""

    verdicts: list[Verdict]
    fidelity: Fidelity


class Run:
    """A run, read from its folder. It may still be running."""

    def __init__(self, directory: Path | str) -> None:
        self.directory = Path(directory)

    def __repr__(self) -> str:
        return f"Run({str(self.directory)!r}, {self.state})"

    def _repr_html_(self) -> str:
        """A small card for notebooks: state, verdicts, and where the report is."""
        rows = "".join(map(_verdict_row, self.mask.verdicts(self.verdicts())))
        title = f"<b>{escape(self.name)}</b> {escape(self.directory.name)}: {self.state}"
        reason = f" ({escape(self.reason)})" if self.reason else ""
        link = f'<a href="{self.report.absolute().as_uri()}">report</a>'
        page = link if self.report.exists() else f"kept in {escape(str(self.directory))}"
        return f"<div>{title}{reason}<table>{rows}</table>{page}</div>"

    @property
    def name(self) -> str:
        """The experiment's name."""
        return self.directory.parent.name

    @property
    def state(self) -> State:
        """running, finished, failed, interrupted or broken."""
        return state_of(self.directory)[0]

    @property
    def reason(self) -> str:
        """Why it is not finished, without secrets."""
        reason = state_of(self.directory)[1]
        return self.mask.text(reason) if reason else ""

    @property
    def mask(self) -> Mask:
        """Masks the secrets of its declaration in what is shown."""
        planned = self.directory / "plan.json"
        return Mask.of(plan.read(planned).declaration if planned.exists() else {})

    @property
    def plan(self) -> plan.Plan:
        """Its plan: every address, route, command and fault, made before it began."""
        return plan.read(self.directory / "plan.json")

    @property
    def report(self) -> Path:
        """Where its report is, once `streambed.report(run)` or the command line has written it."""
        return self.directory / "report.html"

    @property
    def began(self) -> datetime:
        """When it began, by this machine's clock."""
        with contextlib.suppress(ValueError):
            return datetime.strptime(self.directory.name[:STAMP_LENGTH], STAMP)
        return datetime.fromtimestamp((self.directory / "plan.json").stat().st_mtime)

    @property
    def took_s(self) -> float | None:
        """Seconds from its first event to its last; None if it recorded none."""
        try:
            with (self.directory / "history" / EVENTS).open("rb") as file:
                first = file.readline()
                size = file.seek(0, 2)
                file.seek(max(0, size - TAIL_BYTES))
                *_, last = [line for line in file.read().split(b"\n")[:-1] if line] or [first]
            return (event_of(last).time - event_of(first).time) / 1e9
        except (OSError, ValueError):
            return None

    @property
    def size_bytes(self) -> int:
        """How much disk space it takes."""
        files = (path.lstat() for path in self.directory.rglob("*") if not path.is_dir())
        return sum(file.st_size for file in files)

    def history(self) -> History:
        """Its events, samples, ledgers and declaration."""
        return history_at(self.directory)

    def checks(self) -> list[Check]:
        """The checks that it declares."""
        return [revive(CHECKS, check) for check in self.plan.declaration.get("checks", ())]

    def samples(self) -> pl.DataFrame:
        """What was measured: t, metric, of, value; `t` is in seconds since the load began."""
        measured = history.read_table(self.directory, "samples")
        return frames.samples(History(events=read_events(self.directory), samples=measured))

    def events(self) -> pl.DataFrame:
        """What happened: t, event, a line about it, and its fields as JSON."""
        return frames.events(History(events=read_events(self.directory)))

    def sent(self) -> pl.DataFrame:
        """Every record sent, in the order in which they were due."""
        return frames.sent(self.history())

    def seen(self) -> pl.DataFrame:
        """Every record seen, with its latency, in the order in which it was seen."""
        return frames.seen(self.history())

    def lost(self) -> pl.DataFrame:
        """Acked records that a reader never saw, a row for each record and reader."""
        return frames.lost(self.history())

    def why(self, record: str) -> tuple[journeys.Journey, list[tuple[float | None, str]]]:
        """The journey of a record, named as verdicts do (poet=17) or by its place (lines/0@812),
        and a line for each step with its seconds since the load began.
        """
        recorded = self.history()
        journey = journeys.journey_of(recorded, find_record(recorded, record))
        return journey, journey.lines(recorded)

    def latency(self, of: str = "") -> pl.DataFrame:
        """The latency of each record to a consumer or sink, or through a job; default: all."""
        return frames.latency(self.history(), of)

    def recoveries(self, of: str = "") -> pl.DataFrame:
        """How a consumer, sink or job recovered from the faults; default: all.

        Effect, outage, restored and caught up, a row for each set of faults that overlap.
        """
        return frames.recoveries(self.history(), of)

    def quantiles(self, of: str = "") -> pl.DataFrame:
        """p50, p90, p99 and the maximum of `latency(of)`, a row for each component."""
        return frames.quantiles(self.latency(of))

    def ledger(self) -> Ledger:
        """Every record sent and seen, as two data frames with raw times."""
        return history.read(self.directory).ledger

    def records(self) -> pl.DataFrame:
        """Keys and values of what consumers with `keep: true` saw."""
        return history.read_table(self.directory, "kept")

    def query(self, store: str, text: str) -> pl.DataFrame:
        """The result of one statement or command on a store, during the run or afterwards.

        After the run, a copy of the store is queried and then removed: changes are not kept.
        """
        asked = subprocess.run(
            [
                sys.executable,
                "-m",
                "streambed.runner.query.running",
                str(self.directory.absolute()),
                store,
                text,
            ],
            capture_output=True,
            check=False,
        )
        if asked.returncode:
            wrong_query = asked.returncode == QueryError.exit_status
            error = QueryError if wrong_query else WorldError
            raise error(asked.stderr.decode().strip())
        return pl.read_ipc(asked.stdout)

    def verdicts(self) -> list[Verdict]:
        """The verdicts kept in its folder; empty if it was never judged."""
        if not self._verdicts_file.exists():
            return []
        return history.read_verdicts(self._verdicts_file)

    def verdict(self, name: str) -> Verdict:
        """The verdict of one check: by its kind, such as no_loss, or with what it is about, such as
        latency:reader.
        """
        __tracebackhide__ = True  # pytest shows the caller's line, not this one.
        verdicts = self.named_verdicts()
        if name in verdicts:
            return verdicts[name]
        of_kind = [full for full in verdicts if full.partition(":")[0] == name]
        if len(of_kind) == 1:
            return verdicts[of_kind[0]]
        if of_kind:
            raise UsageError(
                f"there are {len(of_kind)} verdicts on {name}: ask for one of {', '.join(of_kind)}"
            )
        raise UsageError(f"there is no verdict '{name}'. {suggestion(name, verdicts)}")

    def named_verdicts(self) -> dict[str, Verdict]:
        """The verdicts, judged now if they never were, by kind and by what each is about:
        no_loss:lines, latency:reader.
        """
        by_name: dict[str, Verdict] = {}
        counts: Counter[str] = Counter()
        verdicts = self.verdicts() or self.check()
        abouts = [check.about for check in self.checks()]
        if len(abouts) != len(verdicts):  # Other checks were judged than the run declares.
            abouts = [verdict.about for verdict in verdicts]
        for about, verdict in zip(abouts, verdicts, strict=True):
            name = f"{verdict.check}:{about}" if about else verdict.check
            counts[name] += 1
            number = counts[name]
            by_name[f"{name}#{number}" if number > 1 else name] = verdict
        return by_name

    def fidelity(self) -> Fidelity:
        """How well its links did what was declared, and when that is in doubt; judged now if it
        never was.
        """
        recorded = read_json(self._fidelity_file)
        if not recorded:
            return fidelity(self.history())
        return codec.convert(Fidelity, recorded)

    @property
    def _verdicts_file(self) -> Path:
        return self.directory / "verdicts.json"

    @property
    def _fidelity_file(self) -> Path:
        return self.directory / "fidelity.json"

    def check(self) -> list[Verdict]:
        """Judge it, without running it, and keep the verdicts, and how well its links did."""
        judgement = self.judge()
        self.keep(judgement)
        return judgement.verdicts

    def judge(self, *, spark_master: str = "") -> Judgement:
        """Judge it and keep nothing but the answers of batch jobs that a check needs.

        Those run when the run is first judged; with `spark_master`, again and there.
        """
        recorded = self.history()
        checks = self.checks()
        # The first writable path is the folder of the declaration; plans of older versions lack it.
        base = Path(next(iter(self.plan.writable), self.directory))
        if run_batch_jobs(self.directory, recorded, checks, base=base, master=spark_master):
            recorded = self.history()
        verdicts = [_verdict_of(check, recorded) for check in checks]
        return Judgement(verdicts=verdicts, fidelity=fidelity(recorded))

    def keep(self, judgement: Judgement) -> None:
        """Write a judgement into the run's folder; OSError if that fails."""
        verdicts = [asdict(verdict) for verdict in judgement.verdicts]
        write_whole(self._verdicts_file, json.dumps(verdicts, default=str, indent=1))
        write_whole(self._fidelity_file, json.dumps(asdict(judgement.fidelity), indent=1))


def _verdict_of(check: Check, recorded: History) -> Verdict:
    """The verdict of a check. If a declared fault was not injected, "holds" becomes unknown, both
    before and after `expect` inverts the verdict.
    """
    verdict = replace(check.judge(recorded), about=check.about)
    verdict = as_expected(check, downgrade_if_fault_missing(verdict, recorded))
    return downgrade_if_fault_missing(verdict, recorded)


def history_at(directory: Path) -> History:
    """All that a run's folder keeps, with the components that it declares."""
    recorded = history.read(directory)
    return replace(recorded, components=components_of(recorded.declaration))


def every(into: Path = RUNS) -> list[Run]:
    """All runs under a folder, oldest first."""
    return [
        Run(path.parent)
        for path in sorted(into.glob("*/*/plan.json"), key=lambda path: path.parent.name)
        if not path.parent.is_symlink()
    ]


def find(named: str, into: Path = RUNS) -> Run:
    """A run by folder, by experiment (its newest), by time, or the newest of all: "latest"."""
    if (Path(named) / "plan.json").is_file():
        return Run(Path(named).resolve())
    runs = every(into)
    fitting = [run for run in runs if named in _names(run)]
    if not fitting:
        if not runs:
            raise UsageError(f"No run called '{named}': {into}/ is empty.")
        known = {name for run in runs for name in _names(run)}
        raise UsageError(f"No run called '{named}' in {into}/. {suggestion(named, known)}")
    return fitting[-1]


def _names(run: Run) -> Iterator[str]:
    yield "latest"
    yield run.name
    yield run.directory.name
    yield f"{run.name}/{run.directory.name}"
    yield f"{run.name}/latest"


def remove(run: Run) -> None:
    """Delete a run's folder, and the link that points at it."""
    if run.state == "running":
        raise UsageError(
            f"{run.directory} is still running: stop it first (Ctrl-C where it was started)"
        )
    latest = run.directory.parent / "latest"
    if latest.is_symlink() and latest.resolve() == run.directory.resolve():
        latest.unlink()
    shutil.rmtree(run.directory)
    left = [
        path.parent
        for path in sorted(run.directory.parent.glob("*/plan.json"))
        if not path.parent.is_symlink()
    ]
    if left and not latest.is_symlink():
        latest.symlink_to(left[-1].name)
    elif not any(
        run.directory.parent.iterdir()
    ):  # A study of the same name may keep its trials here.
        run.directory.parent.rmdir()


def _verdict_row(verdict: Verdict) -> str:
    """A row of the card for notebooks."""
    answer = f"<b>{verdict.answer.upper()}</b>"
    return (
        f"<tr><td>{escape(verdict.check)}</td>"
        f'<td style="color: {COLOURS[verdict.answer]}">{answer}</td>'
        f"<td>{escape(verdict.says)}</td></tr>"
    )
