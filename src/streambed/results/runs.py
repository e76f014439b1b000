"""Runs on disk: find them, read them, judge them again, remove them."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

import polars as pl

from streambed import plan
from streambed.errors import QueryError, UsageError, WorldError, suggestion
from streambed.kinds.check_table import CHECKS
from streambed.kinds.checks.check import Check
from streambed.kinds.declared_parts import components_of, revive
from streambed.kinds.evidence.course import downgrade_if_fault_missing
from streambed.record import codec, history, read_json, write_whole
from streambed.record.fidelity import Fidelity, fidelity
from streambed.record.history import History, Ledger, Verdict
from streambed.record.status import State, state_of

RUNS = Path("runs")


class Run:
    """One run: a folder, and what can be asked of it."""

    def __init__(self, directory: Path | str) -> None:
        self.directory = Path(directory)

    def __repr__(self) -> str:
        return f"Run({str(self.directory)!r}, {self.state})"

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
        """Why it is not finished."""
        return state_of(self.directory)[1]

    @property
    def plan(self) -> plan.Plan:
        """What was decided before it began."""
        return plan.read(self.directory / "plan.json")

    def history(self) -> History:
        """All that it recorded."""
        return history_at(self.directory)

    def checks(self) -> list[Check]:
        """The checks that it declares."""
        return [revive(CHECKS, check) for check in self.plan.declaration.get("checks", ())]

    def samples(self) -> pl.DataFrame:
        """What was measured: time, metric, of, value."""
        return history.read_table(self.directory, "samples")

    def ledger(self) -> Ledger:
        """Every record sent and seen, as two data frames."""
        return history.read(self.directory).ledger

    def records(self) -> pl.DataFrame:
        """Keys and values of what consumers with `keep: true` saw."""
        return history.read_table(self.directory, "kept")

    def query(self, store: str, text: str) -> pl.DataFrame:
        """What a store of the run answers to one statement or command, while the run lasts or
        afterwards.

        Of a run that is over a copy is asked: what a statement changes there is gone with the
        answer.
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
            raise (QueryError if asked.returncode == QueryError.exit_status else WorldError)(
                asked.stderr.decode().strip()
            )
        return pl.read_ipc(asked.stdout)

    def verdicts(self) -> list[Verdict]:
        """What was judged last; empty if it never was."""
        return (
            [Verdict(**found) for found in json.loads(self._judged.read_text())]
            if self._judged.exists()
            else []
        )

    def verdict(self, name: str) -> Verdict:
        """The verdict of one check: by its kind, such as no_loss, or with what it is about, such as
        latency:reader.
        """
        found = self.named_verdicts()
        alike = [full for full in found if full.partition(":")[0] == name]
        if name in found or len(alike) == 1:
            return found[name if name in found else alike[0]]
        if alike:
            raise UsageError(
                f"there are {len(alike)} verdicts on {name}: ask for one of {', '.join(alike)}"
            )
        raise UsageError(f"there is no verdict '{name}'. {suggestion(name, found)}")

    def named_verdicts(self) -> dict[str, Verdict]:
        """The verdicts, judged now if they never were, by kind and by what each is about:
        no_loss:lines, latency:reader.
        """
        found: dict[str, Verdict] = {}
        for check, verdict in zip(self.checks(), self.verdicts() or self.check(), strict=True):
            name = f"{verdict.check}:{check.about}" if check.about else verdict.check
            same = sum(other.partition("#")[0] == name for other in found)
            found[f"{name}#{same + 1}" if same else name] = verdict
        return found

    def fidelity(self) -> Fidelity:
        """How well its links did what was declared, and when it is not to be believed; judged now
        if it never was.
        """
        kept = read_json(self._measured)
        if not kept:
            return fidelity(self.history())
        return codec.convert(Fidelity, kept)

    @property
    def _judged(self) -> Path:
        return self.directory / "verdicts.json"

    @property
    def _measured(self) -> Path:
        return self.directory / "fidelity.json"

    def check(self) -> list[Verdict]:
        """Judge it, without running it, and keep the verdicts, and how well its links did."""
        recorded = self.history()
        verdicts = [
            downgrade_if_fault_missing(check.judge(recorded), recorded) for check in self.checks()
        ]
        write_whole(
            self._judged,
            json.dumps([asdict(verdict) for verdict in verdicts], default=str, indent=1),
        )
        write_whole(self._measured, json.dumps(asdict(fidelity(recorded)), indent=1))
        return verdicts


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
        known = {name for run in runs for name in _names(run)}
        raise UsageError(f"there is no run '{named}' in {into}/. {suggestion(named, known)}")
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
