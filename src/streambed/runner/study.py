"""Run a study: trial after trial, never two at once, with each result saved for resumption."""

from __future__ import annotations

import contextlib
import fcntl
import shutil
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from streambed.declare.study import Trial
from streambed.declare.yaml.study_file import DeclaredStudy
from streambed.errors import StreambedError, UsageError, WorldError
from streambed.results.runs import RUNS, Run
from streambed.results.studies import StudyResult, TrialOutcome, files_of
from streambed.runner import launcher

OVERHEAD_S = 15.0
"""Estimated time of a trial besides its load, until one has finished."""


@dataclass(frozen=True, kw_only=True)
class Progress:
    """Progress of a study: the trial that runs or has just ended, and the time left."""

    trial: Trial
    done: int
    total: int
    trial_s: float
    """Estimated time of this trial."""
    after_s: float
    """Estimated time of all trials after it."""
    elapsed_s: float = 0.0
    run: Run | None = None
    ended: TrialOutcome | None = None

    @property
    def left_s(self) -> float:
        """Estimated time until the study ends."""
        return max(self.trial_s - self.elapsed_s, 0.0) + self.after_s

    @property
    def share(self) -> float:
        """Estimated share of the trial that is over, below 1."""
        return min(self.elapsed_s / self.trial_s, 0.99) if self.trial_s else 0.0

    def later(self, elapsed_s: float, run: Run) -> Progress:
        """The progress of the same trial at a later time."""
        return replace(self, elapsed_s=elapsed_s, run=run)


OnProgress = Callable[[Progress], None]


def carry_out(
    declared: DeclaredStudy,
    *,
    into: Path = RUNS,
    again: bool = False,
    on_progress: OnProgress = lambda progress: None,
) -> StudyResult:
    """Run the pending trials of a study and write its tables.

    Finished trials are kept, all others run again; `again` discards all results first.
    Ctrl-C stops the running trial in an orderly way, and then the study.
    """
    folder = into.absolute() / declared.study.name
    with _lock_folder(folder):
        result = StudyResult(declared, folder)
        if again:
            result.forget()
        result.refuse_changes()
        for trial in result.pending:
            outcome = _attempt(result, trial, on_progress)
            on_progress(_progress(result, trial, outcome))
            if outcome.state == "interrupted":
                result.interrupted = True
                break
        result.write_tables()
    return result


def _attempt(result: StudyResult, trial: Trial, on_progress: OnProgress) -> TrialOutcome:
    """Run one trial and judge it. A failure is recorded and does not stop the study."""
    began_s = time.monotonic()
    _remove_earlier_attempt(result, trial)
    before = _progress(result, trial)
    on_progress(before)

    def show_progress(run: Run) -> None:
        on_progress(before.later(time.monotonic() - began_s, run))

    declared = result.declared.experiment(trial)
    outcome = TrialOutcome(state="failed", files=files_of(declared))
    try:
        plan = launcher.prepare(
            declared.experiment,
            base=declared.base,
            into=result.folder / "trials",
            notes=declared.notes,
        )
        folder = Path(plan.directory).relative_to(result.folder)
        outcome = replace(outcome, run=str(folder))
        result.note(trial, replace(outcome, state="running"))
        run = launcher.launch(plan, text=declared.text, on_look=show_progress)
        if run.state == "finished":
            run.check()
        outcome = replace(outcome, state=run.state, reason=run.reason)
    except StreambedError as error:
        outcome = replace(outcome, run="", reason=str(error))
    outcome = replace(outcome, took_s=round(time.monotonic() - began_s, 3))
    result.note(trial, outcome)
    return outcome


def _remove_earlier_attempt(result: StudyResult, trial: Trial) -> None:
    """Remove the run folder of an earlier attempt."""
    left = result.outcome_of(trial).run
    if left:
        shutil.rmtree(result.folder / left, ignore_errors=True)


def _progress(result: StudyResult, trial: Trial, ended: TrialOutcome | None = None) -> Progress:
    """Estimate the rest by the load of each trial and the mean overhead of finished ones."""

    def load_s(of: Trial) -> float:
        return result.declared.points[of.point].experiment.duration.s

    trials, finished = result.declared.trials, result.finished
    overheads = [result.outcome_of(of).took_s - load_s(of) for of in finished]
    overhead_s = statistics.fmean(overheads) if overheads else OVERHEAD_S
    after = [of for of in trials[trials.index(trial) + 1 :] if of not in finished]
    return Progress(
        trial=trial,
        done=len(finished),
        total=len(trials),
        trial_s=0.0 if ended else load_s(trial) + overhead_s,
        after_s=sum(load_s(of) + overhead_s for of in after),
        ended=ended,
    )


@contextlib.contextmanager
def _lock_folder(folder: Path) -> Iterator[None]:
    """Lock the study's folder during the block, so that no two studies write into it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / ".lock").open("w")
    except OSError as error:
        raise WorldError(
            f"the study's folder {folder} cannot be made: {error.strerror}. Give another place "
            "with --into"
        ) from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(
                f"{folder} is being worked on by another `streambed study`: wait for it, or give "
                "--into"
            ) from None
        yield
