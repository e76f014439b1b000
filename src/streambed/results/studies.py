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
from streambed.results.comparison import differences
from streambed.results.runs import Run

NOTES = "study.json"
PAGE = "study.html"
SHOWN = 3
"""How many differences a message shows at most."""


@dataclass(frozen=True, kw_only=True)
class Kept:
    """What became of a trial."""

    run: str = ""
    """Its folder, within the study's; empty if no run began."""
    state: str
    reason: str = ""
    took_s: float = 0.0
    files: dict[str, str] = field(default_factory=dict)
    """Checksums of the files that its experiment names."""


class StudyResult:
    """A study and its folder: what ran, and what came out."""

    def __init__(self, declared: DeclaredStudy, folder: Path) -> None:
        self.declared = declared
        self.folder = folder
        self.kept = {
            name: Kept(**found)
            for name, found in read_json(folder / NOTES).get("trials", {}).items()
        }
        self.interrupted = False

    def __repr__(self) -> str:
        count = f"{len(self.finished)} of {len(self.declared.trials)} trials finished"
        return f"StudyResult({str(self.folder)!r}, {count})"

    @property
    def finished(self) -> list[Trial]:
        """The trials whose runs finished."""
        return [trial for trial in self.declared.trials if self.kept_of(trial).state == "finished"]

    @property
    def pending(self) -> list[Trial]:
        """The trials that are still to run, or to run again, in order."""
        return [trial for trial in self.declared.trials if self.kept_of(trial).state != "finished"]

    @property
    def failures(self) -> dict[str, str]:
        """Why trials did not finish, by their names."""
        kept = {trial.name: self.kept_of(trial) for trial in self.pending}
        return {
            name: found.reason or found.state
            for name, found in kept.items()
            if found.state != "pending"
        }

    def kept_of(self, trial: Trial) -> Kept:
        """What became of a trial; one whose folder is gone is pending again."""
        found = self.kept.get(trial.name, Kept(state="pending"))
        gone = found.run and not (self.folder / found.run / "plan.json").is_file()
        return Kept(state="pending") if gone else found

    def run(self, trial: Trial) -> Run:
        """The run of a trial that has one."""
        return Run(self.folder / self.kept_of(trial).run)

    def note(self, trial: Trial, kept: Kept) -> None:
        """Write down what became of a trial, at once."""
        self.kept[trial.name] = kept
        trials = {name: asdict(found) for name, found in self.kept.items()}
        write_whole(
            self.folder / NOTES,
            json.dumps({"study": self.declared.study.name, "trials": trials}, indent=1),
        )

    def forget(self) -> None:
        """Remove all that the study keeps, and nothing else that may be in its folder."""
        if (self.folder / NOTES).exists():
            for name in ("trials", "figures"):
                shutil.rmtree(self.folder / name, ignore_errors=True)
            tables = ("trials.parquet", "trials.csv", "summary.parquet", "summary.csv")
            for name in (NOTES, PAGE, *tables):
                (self.folder / name).unlink(missing_ok=True)
        self.kept = {}

    def refuse_changes(self) -> None:
        """Raise UsageError if a trial that is kept was run with another experiment than the files
        declare now.
        """
        for trial in self.finished:
            now = self.declared.experiment(trial)
            then = with_defaults(self.run(trial).plan.declaration)
            changed = [
                f"{key} was {was}, is {now}"
                for key, was, now in differences(then, now.experiment.declaration())
            ]
            files, kept = files_of(now), self.kept_of(trial).files
            changed += [
                f"{name} has changed"
                for name in sorted({*files, *kept})
                if files.get(name) != kept.get(name)
            ]
            if changed:
                more = f" and {len(changed) - SHOWN} more" if len(changed) > SHOWN else ""
                raise UsageError(
                    f"{self.folder} keeps trials of another experiment: since {trial.name} was "
                    f"run, {'; '.join(changed[:SHOWN])}{more}. "
                    "Start over with --again, or give the study another name"
                )

    def verdicts(self) -> list[Verdict]:
        """What the checks say of all finished trials."""
        return [verdict for trial in self.finished for verdict in _judged(self.run(trial))]

    def doubts(self) -> dict[str, str]:
        """The finished trials that are not to be believed, and what their runs say of it."""
        found = {trial.name: self.run(trial).fidelity() for trial in self.finished}
        return {name: fidelity.says for name, fidelity in found.items() if not fidelity.believable}

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


def _judged(run: Run) -> list[Verdict]:
    return run.verdicts() or run.check()


def files_of(declared: Declared) -> dict[str, str]:
    """Checksums of the files that an experiment names relative to itself: jobs, scripts, lines to
    send.
    """
    names = {
        text
        for text in _texts(declared.experiment.declaration())
        if text and not os.path.isabs(text)
    }
    found = sorted(name for name in names if os.path.isfile(os.path.join(declared.base, name)))
    return {name: hashlib.sha256((declared.base / name).read_bytes()).hexdigest() for name in found}


def _texts(found: Any) -> Iterator[str]:
    if isinstance(found, str):
        yield found
    elif isinstance(found, (dict, list, tuple)):
        for below in found.values() if isinstance(found, dict) else found:
            yield from _texts(below)


def trial_table(result: StudyResult) -> pl.DataFrame:
    """A row for each trial and measure: what was changed, what came out, or why nothing did."""
    study = result.declared.study
    keys = study.keys()
    rows: list[dict[str, Any]] = []
    for trial in sorted(result.declared.trials, key=lambda trial: (trial.point, trial.repetition)):
        same: dict[str, Any] = {
            "study": study.name,
            "trial": trial.name,
            **{key: trial.keys.get(key) for key in keys},
        }
        same |= {"repetition": trial.repetition, "seed": trial.seed}
        rows += [{**same, **taken} for taken in _taken(result, trial)]
    texts = {
        name: pl.String
        for name in (
            "study",
            "trial",
            *keys,
            "measure",
            "unit",
            "state",
            "verdicts",
            "reason",
            "run",
        )
    }
    return pl.DataFrame(rows, schema_overrides={**texts, "value": pl.Float64})


def _taken(result: StudyResult, trial: Trial) -> Iterator[dict[str, Any]]:
    kept = result.kept_of(trial)
    history, verdicts = History(), ""
    if kept.state == "finished":
        run = result.run(trial)
        history = run.history()
        verdicts = "; ".join(f"{verdict.check} {verdict.answer}" for verdict in _judged(run))
    for name, measure in result.declared.study.measures.items():
        value, reason = None, kept.reason
        try:
            if kept.state == "finished":
                value = measure.take(history, result.declared.study.warm_up)
        except NotTaken as error:
            reason = str(error)
        same = {"state": kept.state, "verdicts": verdicts, "reason": reason, "run": kept.run}
        yield {"measure": name, "value": value, "unit": TAKING[measure.quantity].unit, **same}


def summary_table(result: StudyResult, trials: pl.DataFrame) -> pl.DataFrame:
    """A row for each point and measure: how many trials gave a value, their mean, spread and 95 %
    interval.
    """
    names = ("study", *result.declared.study.keys(), "measure", "unit")
    rows: list[dict[str, Any]] = []
    for group, part in trials.group_by(names, maintain_order=True):
        values = part["value"].drop_nulls().to_list()
        numbers = asdict(summary_of(values)) if values else {"count": 0, "method": "none: no value"}
        rows.append({**dict(zip(names, group, strict=True)), "trials": part.height, **numbers})
    schema: dict[str, type[pl.DataType]] = {name: pl.String for name in names} | {
        "trials": pl.Int64,
        "count": pl.Int64,
    }
    schema |= {name: pl.Float64 for name in ("mean", "deviation", "low", "high")} | {
        "method": pl.String
    }
    return pl.DataFrame(rows, schema=schema).rename({"count": "n"})


def _write(table: pl.DataFrame, path: Path) -> None:
    whole = io.BytesIO()
    table.write_parquet(whole)
    write_whole(path.with_suffix(".parquet"), whole.getvalue())
    write_whole(path.with_suffix(".csv"), table.write_csv())
