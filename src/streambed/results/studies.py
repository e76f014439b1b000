"""Studies on disk: which trials ran, and the tables of their results.

runs/<study>/
  study.json                       which trial is which run, and how it ended
  trials/<experiment>/<time>/      each a run like any other
  trials.parquet trials.csv        a row for each trial and measure
  summary.parquet summary.csv      a row for each point and measure
  study.html figures/              the page
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from streambed.declare.experiment import with_defaults
from streambed.declare.reading import Declared
from streambed.declare.study import Trial
from streambed.declare.yaml.study_file import DeclaredStudy
from streambed.errors import UsageError
from streambed.kinds.measures import TAKING, NotTaken
from streambed.record import read_json, write_whole
from streambed.record.history import History, Verdict
from streambed.record.statistics import summary_of
from streambed.results.declared import differences
from streambed.results.runs import Run

NOTES = "study.json"
PAGE = "study.html"
SHOWN = 3
"""How many differences a message shows at most."""


@dataclass(frozen=True, kw_only=True)
class TrialOutcome:
    """How a trial ended."""

    run: str = ""
    """Its folder, within the study's; empty if no run began."""
    state: str
    reason: str = ""
    took_s: float = 0.0
    files: dict[str, str] = field(default_factory=dict)
    """Checksums of the files that its experiment names."""


class StudyResult:
    """A study and its folder: which trials ran, and their results."""

    def __init__(self, declared: DeclaredStudy, folder: Path) -> None:
        self.declared = declared
        self.folder = folder
        notes = read_json(folder / NOTES).get("trials", {})
        self.outcomes = {name: TrialOutcome(**fields) for name, fields in notes.items()}
        self.interrupted = False

    def __repr__(self) -> str:
        count = f"{len(self.finished)} of {len(self.declared.trials)} trials finished"
        return f"StudyResult({str(self.folder)!r}, {count})"

    @property
    def finished(self) -> list[Trial]:
        """The trials whose runs finished."""
        return [
            trial for trial in self.declared.trials if self.outcome_of(trial).state == "finished"
        ]

    @property
    def pending(self) -> list[Trial]:
        """The trials to run, because they never ran or did not finish, in order."""
        return [
            trial for trial in self.declared.trials if self.outcome_of(trial).state != "finished"
        ]

    @property
    def failures(self) -> dict[str, str]:
        """Why trials did not finish, by their names."""
        reasons: dict[str, str] = {}
        for trial in self.pending:
            outcome = self.outcome_of(trial)
            if outcome.state != "pending":
                reasons[trial.name] = outcome.reason or outcome.state
        return reasons

    def outcome_of(self, trial: Trial) -> TrialOutcome:
        """The outcome of a trial; pending if it has not run, or if its folder was removed."""
        pending = TrialOutcome(state="pending")
        outcome = self.outcomes.get(trial.name, pending)
        if outcome.run and not (self.folder / outcome.run / "plan.json").is_file():
            return pending
        return outcome

    def run(self, trial: Trial) -> Run:
        """The run of a trial that has one."""
        return Run(self.folder / self.outcome_of(trial).run)

    def note(self, trial: Trial, outcome: TrialOutcome) -> None:
        """Record the outcome of a trial; study.json is up to date when this returns."""
        self.outcomes[trial.name] = outcome
        trials = {name: asdict(each) for name, each in self.outcomes.items()}
        notes = {"study": self.declared.study.name, "trials": trials}
        write_whole(self.folder / NOTES, json.dumps(notes, indent=1))

    def forget(self) -> None:
        """Remove the study's trials, tables and page, and no other file in its folder."""
        if (self.folder / NOTES).exists():
            for name in ("trials", "figures"):
                shutil.rmtree(self.folder / name, ignore_errors=True)
            tables = ("trials.parquet", "trials.csv", "summary.parquet", "summary.csv")
            for name in (NOTES, PAGE, *tables):
                (self.folder / name).unlink(missing_ok=True)
        self.outcomes = {}

    def refuse_changes(self) -> None:
        """Raise UsageError if a trial that is kept was run with another experiment than the files
        declare now.
        """
        for trial in self.finished:
            changed = self._changes_since(trial)
            if changed:
                more = f" and {len(changed) - SHOWN} more" if len(changed) > SHOWN else ""
                raise UsageError(
                    f"{self.folder} keeps trials of another experiment: since {trial.name} was "
                    f"run, {'; '.join(changed[:SHOWN])}{more}. "
                    "Start over with --again, or give the study another name"
                )

    def _changes_since(self, trial: Trial) -> list[str]:
        """What has changed in the declaration and its files since a trial ran."""
        declared = self.declared.experiment(trial)
        then = with_defaults(self.run(trial).plan.declaration)
        changes = [
            f"{key} was {was}, is {now}"
            for key, was, now in differences(then, declared.experiment.declaration())
        ]
        checksums_now = files_of(declared)
        checksums_then = self.outcome_of(trial).files
        for name in sorted({*checksums_now, *checksums_then}):
            if checksums_now.get(name) != checksums_then.get(name):
                changes.append(f"{name} has changed")
        return changes

    def verdicts(self) -> list[Verdict]:
        """What the checks say of all finished trials."""
        return [verdict for trial in self.finished for verdict in _verdicts_of(self.run(trial))]

    def not_holding(self) -> dict[str, list[str]]:
        """The trials in which a check does not hold, by check and answer, such as no_loss:lines
        FAILS.
        """
        trials: dict[str, list[str]] = {}
        for trial in self.finished:
            for name, verdict in self.run(trial).named_verdicts().items():
                if not verdict.holds:
                    trials.setdefault(f"{name} {verdict.answer.upper()}", []).append(trial.name)
        return trials

    def doubts(self) -> dict[str, str]:
        """The finished trials whose fidelity is in doubt, and why."""
        reasons: dict[str, str] = {}
        for trial in self.finished:
            fidelity = self.run(trial).fidelity()
            if not fidelity.believable:
                reasons[trial.name] = fidelity.says
        return reasons

    def trials(self) -> pl.DataFrame:
        """A row for each trial and measure, once the study has written its tables."""
        return pl.read_parquet(self.folder / "trials.parquet")

    def summary(self) -> pl.DataFrame:
        """A row for each point and measure, once the study has written its tables."""
        return pl.read_parquet(self.folder / "summary.parquet")

    def write_tables(self) -> None:
        """Take the measures of all trials and write both tables, as Parquet and as CSV."""
        trials = trial_table(self)
        _write(trials, self.folder / "trials")
        _write(summary_table(self, trials), self.folder / "summary")


def _verdicts_of(run: Run) -> list[Verdict]:
    return run.verdicts() or run.check()


def files_of(declared: Declared) -> dict[str, str]:
    """Checksums of the files that an experiment names relative to itself: jobs, scripts, lines to
    send.
    """
    checksums: dict[str, str] = {}
    for text in sorted(set(_texts(declared.experiment.declaration()))):
        relative = text and not os.path.isabs(text)
        if relative and os.path.isfile(os.path.join(declared.base, text)):
            content = (declared.base / text).read_bytes()
            checksums[text] = hashlib.sha256(content).hexdigest()
    return checksums


def _texts(value: Any) -> Iterator[str]:
    """Every text in a declaration, at any depth."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for below in value.values():
            yield from _texts(below)
    elif isinstance(value, (list, tuple)):
        for below in value:
            yield from _texts(below)


def trial_table(result: StudyResult) -> pl.DataFrame:
    """A row for each trial and measure: the varied values, and the result or why it is missing."""
    study = result.declared.study
    keys = study.keys()
    rows: list[dict[str, Any]] = []
    trials = sorted(result.declared.trials, key=lambda trial: (trial.point, trial.repetition))
    for trial in trials:
        columns: dict[str, Any] = {"study": study.name, "trial": trial.name}
        columns |= {key: trial.keys.get(key) for key in keys}
        columns |= {"repetition": trial.repetition, "seed": trial.seed}
        for measured in _measured_values(result, trial):
            rows.append(columns | measured)
    names = ("study", "trial", *keys, "measure", "unit", "state", "verdicts", "reason", "run")
    texts = {name: pl.String for name in names}
    return pl.DataFrame(rows, schema_overrides={**texts, "value": pl.Float64})


def _measured_values(result: StudyResult, trial: Trial) -> Iterator[dict[str, Any]]:
    """For each measure of the study, the columns that depend on the trial's run."""
    study = result.declared.study
    outcome = result.outcome_of(trial)
    history = History()
    verdicts = ""
    if outcome.state == "finished":
        run = result.run(trial)
        history = run.history()
        verdicts = "; ".join(f"{verdict.check} {verdict.answer}" for verdict in _verdicts_of(run))
    for name, measure in study.measures.items():
        value = None
        reason = outcome.reason
        try:
            if outcome.state == "finished":
                value = measure.take(history, study.warm_up)
        except NotTaken as error:
            reason = str(error)
        yield {
            "measure": name,
            "value": value,
            "unit": TAKING[measure.quantity].unit,
            "state": outcome.state,
            "verdicts": verdicts,
            "reason": reason,
            "run": outcome.run,
        }


def summary_table(result: StudyResult, trials: pl.DataFrame) -> pl.DataFrame:
    """A row for each point and measure: how many trials gave a value, their mean, spread and 95 %
    interval.
    """
    names = ("study", *result.declared.study.keys(), "measure", "unit")
    rows: list[dict[str, Any]] = []
    for group, part in trials.group_by(names, maintain_order=True):
        values = part["value"].drop_nulls().to_list()
        numbers: dict[str, Any] = {"count": 0, "method": "none: no value"}
        if values:
            numbers = asdict(summary_of(values))
        row = dict(zip(names, group, strict=True))
        rows.append({**row, "trials": part.height, **numbers})
    schema: dict[str, type[pl.DataType]] = {name: pl.String for name in names}
    schema |= {"trials": pl.Int64, "count": pl.Int64}
    schema |= {name: pl.Float64 for name in ("mean", "deviation", "low", "high")}
    schema["method"] = pl.String
    return pl.DataFrame(rows, schema=schema).rename({"count": "n"})


def _write(table: pl.DataFrame, path: Path) -> None:
    whole = io.BytesIO()
    table.write_parquet(whole)
    write_whole(path.with_suffix(".parquet"), whole.getvalue())
    write_whole(path.with_suffix(".csv"), table.write_csv())
