"""Commands for runs that are kept: check, report, list, logs, rm."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.markup import escape

from streambed.cli.options import (
    IntoOption,
    RunArgument,
    err,
    out,
    short,
    show_end,
    status_of,
    write_report,
)
from streambed.errors import UsageError, suggestion
from streambed.record.history import worst
from streambed.results import runs
from streambed.results.runs import RUNS


def check(named: RunArgument = "latest", into: IntoOption = RUNS) -> None:
    """Judge a recorded run again, without running it."""
    found = runs.find(named, into)
    verdicts = found.check()
    show_end(found, verdicts, None)
    raise typer.Exit(status_of(found, verdicts))


def report(named: RunArgument = "latest", into: IntoOption = RUNS) -> None:
    """Write the HTML page of a run again."""
    typer.echo(write_report(runs.find(named, into), quiet=False))


def list_runs(into: IntoOption = RUNS) -> None:
    """List the runs that are kept, oldest first."""
    found = runs.every(into)
    for kept in found:
        answer = worst(kept.verdicts()) or ""
        out.print(
            f"{kept.name}/{kept.directory.name}  {kept.state:<11} {answer:<8} "
            f"{escape(kept.reason.splitlines()[0] if kept.reason else '')}"
        )
    if not found:
        err.print(f"there is no run in {into}/ yet. Make one: streambed run FILE")


def logs(
    named: RunArgument,
    component: Annotated[str, typer.Argument(help="A component, or one of its processes.")],
    into: IntoOption = RUNS,
) -> None:
    """Print what the processes of a component wrote."""
    found = runs.find(named, into)
    every = {path.stem: path for path in sorted((found.directory / "logs").glob("*.log"))}
    wanted = component.replace("/", ".")
    fitting = [
        path for stem, path in every.items() if stem == wanted or stem.startswith(f"{wanted}.")
    ]
    if not fitting:
        raise UsageError(
            f"there is no log of '{component}' in {found.directory}. {suggestion(wanted, every)}"
        )
    for path in fitting:
        typer.echo(f"==> {path.stem} <==" if len(fitting) > 1 else "", nl=len(fitting) > 1)
        typer.echo(path.read_text(errors="replace"), nl=False)


def remove(
    named: Annotated[list[str], typer.Argument(metavar="RUN...", help="Runs to delete.")],
    into: IntoOption = RUNS,
) -> None:
    """Delete runs and all that they keep."""
    for found in [runs.find(name, into) for name in named]:
        runs.remove(found)
        out.print(f"removed {short(found.directory)}")
