"""The command run."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Group
from rich.live import Live
from rich.markup import escape
from rich.text import Text

from streambed.cli import live_view
from streambed.cli.options import (
    BootstrapOption,
    FaultsOption,
    FileArgument,
    IntoOption,
    JsonOption,
    OpenOption,
    SeedOption,
    SetOption,
    SparkMasterOption,
    keep_or_say,
    open_page,
    out,
    show_end,
    status_of,
    write_report,
)
from streambed.declare import reading
from streambed.errors import UsageError
from streambed.plan import Plan
from streambed.planner.existing import on_existing
from streambed.record.history import Verdict, worst
from streambed.results.runs import RUNS, Judgement, Run
from streambed.runner import launcher

ReportOption = Annotated[
    bool, typer.Option("--report/--no-report", help="Write the HTML report at the end.")
]
QuietOption = Annotated[
    bool, typer.Option("-q", "--quiet", help="Print how it ended and nothing before.")
]


def repeat_command(
    file: Path,
    changes: list[str],
    seed: int | None,
    *,
    profile: str = "",
    bootstrap: str = "",
    spark_master: str = "",
) -> str:
    """The command line that makes the same run again."""
    words = ["streambed", "run", str(file)]
    for change in changes:
        words += ["--set", change]
    if seed is not None:
        words += ["--seed", str(seed)]
    if profile:
        words += ["--faults", profile]
    if bootstrap:
        words += ["--bootstrap", bootstrap]
    if spark_master:
        words += ["--spark-master", spark_master]
    return shlex.join(words)


def run(
    file: FileArgument,
    changes: SetOption = [],  # noqa: B006 (typer copies it)
    seed: SeedOption = None,
    profile: FaultsOption = "",
    bootstrap: BootstrapOption = "",
    spark_master: SparkMasterOption = "",
    into: IntoOption = RUNS,
    as_json: JsonOption = False,
    with_report: ReportOption = True,
    quiet: QuietOption = False,
    opened: OpenOption = False,
) -> None:
    """Run an experiment, check it, and write its report.

    Exit status: 0 every check holds or none is declared, 1 one fails, 2 one is unknown, 3 the run
    could not be made, 64 wrong usage.
    """
    if opened and not with_report:
        raise UsageError("--open needs the report: leave out --no-report")
    declared = reading.read(file, changes, seed, profile)
    experiment = on_existing(declared.experiment, bootstrap=bootstrap, spark_master=spark_master)
    plan = launcher.prepare(experiment, base=declared.base, into=into, notes=declared.notes)
    command = repeat_command(
        file, changes, seed, profile=profile, bootstrap=bootstrap, spark_master=spark_master
    )
    plan = replace(plan, command=command)
    quiet = quiet or as_json
    if quiet:
        done = launcher.launch(plan, text=declared.text)
    else:
        done = _run_with_live_view(plan, declared.text)
    judgement, page = _judge(done, with_report=with_report, quiet=quiet)
    verdicts = judgement.verdicts if judgement else []
    fidelity = judgement.fidelity if judgement else None
    if as_json:
        typer.echo(json.dumps(_summary(done, verdicts, page), default=str))
    else:
        show_end(done, verdicts, page, fidelity=fidelity)
    if opened and page:
        open_page(page)
    raise typer.Exit(status_of(done, verdicts))


def _judge(done: Run, *, with_report: bool, quiet: bool) -> tuple[Judgement | None, Path | None]:
    """The judgement and the report's path; None for what a full disk does not allow."""
    judgement = None
    try:
        judgement = done.judge()
        keep_or_say(done, judgement)
        return judgement, write_report(done, quiet=quiet) if with_report else None
    except OSError as error:
        # If the run itself did not finish, its reason says why.
        if done.state == "finished":
            typer.echo(f"the report could not be written: {error.strerror or error}", err=True)
        return judgement, None


def _run_with_live_view(plan: Plan, text: str) -> Run:
    """Run and print a line for each event, and progress: live on a terminal, else now and then."""
    out.print(live_view.headline(plan), style="bold")
    happenings = live_view.Happenings(plan)
    progress = live_view.Progress(plan, happenings)
    if out.is_terminal:
        return _run_on_terminal(plan, text, happenings, progress)
    output = live_view.Output(plan)

    def look(_: Run) -> None:
        _print_lines(output.new())
        _print_lines(happenings.new())
        if progress.due():
            _print_lines([progress.line()])

    done = launcher.launch(plan, text=text, on_look=look)
    _print_lines(output.rest())
    return done


def _run_on_terminal(
    plan: Plan, text: str, happenings: live_view.Happenings, progress: live_view.Progress
) -> Run:
    """Below the lines of events: progress, rates, and the last lines that programs printed."""
    flow = live_view.Flow(Run(Path(plan.directory)), plan)
    output = live_view.Output(plan, first=0)
    with Live(console=out, refresh_per_second=4, transient=True) as live:

        def look(_: Run) -> None:
            output.new()
            _print_lines(happenings.new())
            printed = [Text(line, style="dim") for line in output.last()]
            live.update(Group(flow.table(progress.line()), *printed))

        done = launcher.launch(plan, text=text, on_look=look)
    _print_lines(output.rest())
    return done


def _print_lines(lines: Iterable[str]) -> None:
    for line in lines:
        out.print(escape(line))


def _summary(done: Run, verdicts: list[Verdict], page: Path | None) -> dict[str, Any]:
    return {
        "run": str(done.directory),
        "state": done.state,
        "reason": done.reason,
        "answer": worst(verdicts) if done.state == "finished" else "unknown",
        "verdicts": [asdict(verdict) for verdict in done.mask.verdicts(verdicts)],
        "fidelity": asdict(done.fidelity()),
        "report": str(page) if page else None,
    }
