"""The commands run and plan."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.live import Live
from rich.markup import escape

from streambed.cli import live_view
from streambed.cli.options import (
    BootstrapOption,
    FileArgument,
    IntoOption,
    SeedOption,
    SetOption,
    SparkMasterOption,
    out,
    show_end,
    status_of,
    write_report,
)
from streambed.declare import reading
from streambed.plan import Plan
from streambed.planner.description import describe
from streambed.planner.existing import on_existing
from streambed.record.history import Verdict, worst
from streambed.results.runs import RUNS, Run
from streambed.runner import launcher


def run(
    file: FileArgument,
    changes: SetOption = [],  # noqa: B006 (typer copies it)
    seed: SeedOption = None,
    bootstrap: BootstrapOption = "",
    spark_master: SparkMasterOption = "",
    into: IntoOption = RUNS,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object at the end and nothing else.")
    ] = False,
    with_report: Annotated[
        bool, typer.Option("--report/--no-report", help="Write the HTML page at the end.")
    ] = True,
) -> None:
    """Run an experiment, judge it, and write its report.

    Exit status: 0 every check holds or none is declared, 1 one fails, 2 one is unknown, 3 the run
    could not be made, 64 wrong usage.
    """
    declared = reading.read(file, changes, seed)
    experiment = on_existing(declared.experiment, bootstrap=bootstrap, spark_master=spark_master)
    plan = launcher.prepare(experiment, base=declared.base, into=into, notes=declared.notes)
    text = declared.text
    done = launcher.launch(plan, text=text) if as_json else _run_with_live_view(plan, text)
    verdicts, page = _judge_and_show(done, with_report=with_report, quiet=as_json)
    if as_json:
        typer.echo(json.dumps(_summary(done, verdicts, page), default=str))
    else:
        show_end(done, verdicts, page)
    raise typer.Exit(status_of(done, verdicts))


def _judge_and_show(
    done: Run, *, with_report: bool, quiet: bool
) -> tuple[list[Verdict], Path | None]:
    try:
        return done.check(), write_report(done, quiet=quiet) if with_report else None
    except OSError:
        if done.state == "finished":
            raise
        return [], None  # The disk is full: the run's reason says so.


def _run_with_live_view(plan: Plan, text: str) -> Run:
    """Run and print a line for each event; on a terminal show a live table too."""
    out.print(live_view.headline(plan), style="bold")
    happenings = live_view.Happenings(plan)
    flow = live_view.Flow(Run(Path(plan.directory)), plan)
    if not out.is_terminal:
        return launcher.launch(plan, text=text, on_look=lambda _: _print_lines(happenings.new()))
    with Live(console=out, refresh_per_second=4, transient=True) as live:

        def look(_: Run) -> None:
            _print_lines(happenings.new())
            live.update(flow.table(happenings.phase))

        return launcher.launch(plan, text=text, on_look=look)


def _print_lines(lines: Iterable[str]) -> None:
    for line in lines:
        out.print(escape(line))


def _summary(done: Run, verdicts: list[Verdict], page: Path | None) -> dict[str, Any]:
    return {
        "run": str(done.directory),
        "state": done.state,
        "reason": done.reason,
        "answer": worst(verdicts) if done.state == "finished" else "unknown",
        "verdicts": [asdict(verdict) for verdict in verdicts],
        "fidelity": asdict(done.fidelity()),
        "report": str(page) if page else None,
    }


def plan(
    file: FileArgument,
    changes: SetOption = [],  # noqa: B006
    seed: SeedOption = None,
    bootstrap: BootstrapOption = "",
    spark_master: SparkMasterOption = "",
) -> None:
    """Show what a run would do: addresses, routes, commands, timeline. Changes nothing."""
    declared = reading.read(file, changes, seed)
    experiment = on_existing(declared.experiment, bootstrap=bootstrap, spark_master=spark_master)
    typer.echo(describe(launcher.prepare(experiment, base=declared.base, notes=declared.notes)))
