"""The three verbs for Python: run, check, report."""

from __future__ import annotations

from pathlib import Path

from streambed.errors import WorldError
from streambed.experiment import model
from streambed.experiment.model import Experiment
from streambed.history import Verdict
from streambed.reports import page
from streambed.runner import launcher
from streambed.runs import RUNS, Run


def run(experiment: Experiment, *, into: str | Path = RUNS, base: str | Path = ".") -> Run:
    """Carry out an experiment and return when it has ended. Raises WorldError if the run could not be made.

    Relative paths in the experiment start at `base`; the run is kept under `into`.
    """
    base = Path(base).absolute()
    model.check(experiment, base)
    made = launcher.launch(launcher.prepare(experiment, base=base, into=Path(into)))
    if made.state != "finished":
        raise WorldError(f"{made.directory}: {made.state}: {made.reason}")
    return made


def check(run: Run) -> list[Verdict]:
    """Judge a run by the checks that its experiment declares."""
    return run.check()


def report(run: Run) -> Path:
    """Write the run's report; where it is."""
    return page.write(run.directory)
