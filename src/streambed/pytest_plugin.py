"""The pytest plugin: a fixture that runs experiments and puts verdicts into pytest's reports.

    def test_survives_a_leader_cut(streambed):
        run = streambed("experiment.yaml", set={"duration": "10s"}, seed=3)
        assert run.verdict("no_loss").holds

pytest loads this module in every project where streambed is installed: it imports nothing heavy
until a test asks for a run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

if TYPE_CHECKING:
    from streambed.results.runs import Run

INTO = Path(".streambed") / "runs"
NOT_MADE = ("streambed", "the run could not be made")
"""A property of the report of a test whose run failed: it proves nothing about the application."""


class Bed:
    """Runs experiments for one test; paths start at the folder of the test's file."""

    def __init__(self, item: pytest.Item, into: Path) -> None:
        self._item = item
        self._into = into
        self.runs: list[Run] = []
        self.failed = False

    def __call__(
        self, file: str | Path, *, set: Mapping[str, Any] | None = None, seed: int | None = None
    ) -> Run:
        """Run an experiment, judge it, and return it. `set` changes values as `--set` does: text is
        read as YAML.
        """
        __tracebackhide__ = True
        from streambed.errors import StreambedError

        try:
            run = self._run(self._item.path.parent / file, set or {}, seed)
        except StreambedError as error:
            self._refuse(str(error))
        if run.state == "interrupted":
            # The launcher caught Ctrl-C to stop the run in order; pytest should stop too.
            raise KeyboardInterrupt
        if run.state != "finished":
            self._refuse(f"the run {run.directory} is {run.state}: {run.reason}")
        try:
            verdicts = run.named_verdicts()
        except StreambedError as error:  # A table is damaged, so that nothing can be judged.
            self._refuse(str(error))
        kinds = Counter(verdict.check for verdict in verdicts.values())
        for name, verdict in verdicts.items():
            short = verdict.check if kinds[verdict.check] == 1 else name
            answer = f"{verdict.answer}: {verdict.says}"
            self._item.user_properties.append((f"verdict.{short}", answer))
        return run

    def _run(self, path: Path, changes: Mapping[str, Any], seed: int | None) -> Run:
        from streambed.declare import reading
        from streambed.declare.yaml import overrides
        from streambed.runner import launcher

        # Text is read as on the command line; other values are what Python says they are.
        words = [
            f"{key}={value}" if isinstance(value, str) else overrides.override(key, value)
            for key, value in changes.items()
        ]
        declared = reading.read(path, words, seed)
        plan = launcher.prepare(
            declared.experiment, base=declared.base, into=self._into, notes=declared.notes
        )
        run = launcher.launch(plan, text=declared.text)
        self.runs.append(run)
        self._item.user_properties.append(("run", str(run.directory)))
        return run

    def _refuse(self, says: str) -> NoReturn:
        self.failed = True
        # `from None`: the error that it is made of would be shown as well.
        raise pytest.fail.Exception(f"streambed: {says}", pytrace=False) from None


BED = pytest.StashKey[Bed]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --streambed-into, the folder for runs."""
    group = parser.getgroup("streambed")
    text = "The folder that keeps runs of the fixture `streambed`"
    text = f"{text}; default: {INTO} in pytest's root folder."
    group.addoption("--streambed-into", metavar="FOLDER", default=None, help=text)


@pytest.fixture
def streambed(request: pytest.FixtureRequest) -> Bed:
    """Run an experiment: streambed("experiment.yaml", set={"duration": "10s"}, seed=3) gives a run,
    with its verdicts.
    """
    option = request.config.getoption("--streambed-into")
    into = Path(option).absolute() if option else request.config.rootpath / INTO
    item: pytest.Item = request.node
    bed = item.stash[BED] = Bed(item, into)
    return bed


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the verdicts and the report of each run to the output of a failed test."""
    report = yield
    if report.failed and report.when == "call" and BED in item.stash:
        for run in item.stash[BED].runs:
            report.sections.append((f"streambed {run.name}/{run.directory.name}", _run_text(run)))
        if item.stash[BED].failed:
            report.user_properties.append(NOT_MADE)
    return report


def _run_text(run: Run) -> str:
    """The verdicts of a run and where its report is."""
    from streambed.record.history import NOTHING_CHECKED

    verdicts = [
        f"{verdict.check} {verdict.answer.upper()}: {verdict.says}" for verdict in run.verdicts()
    ]
    if run.state == "finished" and not verdicts:
        verdicts = [NOTHING_CHECKED]
    try:
        from streambed.reports import page

        where = f"report in {page.write(run.directory)}"
    except Exception as error:  # A broken page must not hide why the test failed.
        where = f"its report could not be written: {error}"
    return "\n".join([*verdicts, f"kept in {run.directory}", where])


def pytest_report_teststatus(report: pytest.TestReport) -> tuple[str, str, str] | None:
    """A test whose run could not be made is an error, not a failure of what it tests."""
    if report.when == "call" and report.failed and NOT_MADE in report.user_properties:
        return "error", "E", "ERROR"
    return None
