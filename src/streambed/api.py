"""The verbs for Python: run, check, report, study."""

from __future__ import annotations

from pathlib import Path

from streambed.declare import expansion
from streambed.declare import experiment as experiments
from streambed.declare.experiment import Experiment
from streambed.declare.yaml import study_file
from streambed.errors import WorldError
from streambed.planner.placement import place_components
from streambed.record.history import Verdict
from streambed.reports import page
from streambed.reports import study as study_page
from streambed.results.runs import RUNS, Run
from streambed.results.studies import StudyResult
from streambed.runner import launcher
from streambed.runner import study as trials


def run(experiment: Experiment, *, into: str | Path = RUNS, base: str | Path = ".") -> Run:
    """Carry out an experiment and return when it has ended. Raises WorldError if the run could not
    be made.

    Relative paths in the experiment start at `base`; the run is kept under `into`.
    """
    base = Path(base).absolute()
    experiment, notes = expansion.expand_experiment(experiment, base)
    experiment = place_components(experiment)
    experiments.check(experiment, base)
    made = launcher.launch(launcher.prepare(experiment, base=base, into=Path(into), notes=notes))
    if made.state != "finished":
        raise WorldError(f"{made.directory}: {made.state}: {made.reason}")
    return made


def check(run: Run) -> list[Verdict]:
    """Judge a run by the checks that its experiment declares."""
    return run.check()


def report(run: Run) -> Path:
    """Write the run's report; where it is."""
    return page.write(run.directory)


def study(
    path: str | Path,
    *,
    into: str | Path = RUNS,
    repetitions: int | None = None,
    again: bool = False,
) -> StudyResult:
    """Carry out a study, or what is left of it, and write its tables and its page. Raises
    WorldError if no trial finished.

    Ctrl-C ends the running trial in order, then raises KeyboardInterrupt; call it again to go on.
    """
    result = trials.carry_out(
        study_file.read(Path(path), repetitions), into=Path(into), again=again
    )
    if result.finished:
        study_page.write(result)
    if result.interrupted:
        raise KeyboardInterrupt
    if not result.finished:
        raise WorldError(f"no trial finished: {'; '.join(dict.fromkeys(result.failures.values()))}")
    return result
