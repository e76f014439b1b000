"""The verbs for Python: run, check, report, study, up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
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
from streambed.runner.up.life import running
from streambed.runner.up.servers import Servers


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
    """Write the run's report and return its path."""
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

    Ctrl-C ends the running trial in order, then raises KeyboardInterrupt; call again to continue.
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


@contextmanager
def up(
    *what: str,
    ports: Mapping[str, int] | None = None,
    topics: Mapping[str, int] | None = None,
    keep: str | Path | None = None,
) -> Iterator[Servers]:
    """Run real servers on localhost during the block: kinds such as "kafka" and "postgresql", or an
    experiment's file for the servers that it declares.

        with streambed.up("kafka", "postgresql", topics={"lines": 3}) as servers:
            servers.kafka.bootstrap, servers.postgresql.url

    `ports` asks for certain ports, `topics` has numbers of partitions. Data are removed at the end
    unless `keep` names a folder.
    """
    folder = Path(keep) if keep is not None else None
    with running(what, ports=ports or {}, topics=topics or {}, keep=folder) as (servers, _):
        yield servers
