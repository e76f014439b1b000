"""What all commands share: the two streams, the usual arguments, and how a run's end is shown."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from streambed.record.history import EXIT_STATUS, NOTHING_CHECKED, Verdict, worst
from streambed.results.runs import Run

out = Console(highlight=False, soft_wrap=True)
err = Console(stderr=True, highlight=False, soft_wrap=True)
COLOURS = {"holds": "green", "fails": "red", "unknown": "yellow"}

FileArgument = Annotated[
    Path, typer.Argument(metavar="FILE", help="The declaration: YAML, or GraphML of stream2gym.")
]
RunArgument = Annotated[
    str,
    typer.Argument(
        metavar="RUN", help="latest, an experiment's name, NAME/TIME, or a run's folder."
    ),
]
IntoOption = Annotated[Path, typer.Option("--into", help="The folder that keeps runs.")]
SetOption = Annotated[
    list[str],
    typer.Option(
        "--set", metavar="KEY=VALUE", help="Change one value, such as topology.links.0.delay=50ms."
    ),
]
BootstrapOption = Annotated[
    str,
    typer.Option(
        "--bootstrap",
        metavar="HOST:PORT,...",
        help="Use this Kafka in place of the declared one, outside any box.",
    ),
]
SparkMasterOption = Annotated[
    str,
    typer.Option(
        "--spark-master",
        metavar="spark://HOST:PORT",
        help="Run the Spark jobs on this cluster, outside any box.",
    ),
]
SeedOption = Annotated[
    int | None, typer.Option("--seed", help="Draw everything random from another seed.")
]


def write_report(done: Run, *, quiet: bool) -> Path:
    """Write the page of a run."""
    from streambed.reports import (
        page,
    )  # Altair takes a second to load: only who writes a report waits for it.

    if quiet:
        return page.write(done.directory)
    with out.status("writing the report"):
        return page.write(done.directory)


def show_end(done: Run, verdicts: list[Verdict], page: Path | None) -> None:
    """How a run ended, what the checks say, and where it is kept."""
    if done.state != "finished":
        err.print(f"[bold red]{done.state}[/]: {escape(done.reason)}")
    for verdict in verdicts:
        out.print(
            f"{verdict.check:<10} [{COLOURS[verdict.answer]}]{verdict.answer.upper():<7}[/] "
            f"{escape(verdict.says)}"
        )
    if done.state == "finished":
        if not verdicts:
            out.print(NOTHING_CHECKED)
        found = done.fidelity()
        said = "[green]BELIEVED[/]" if found.believable else "[yellow]DOUBTFUL[/]"
        out.print(f"{'fidelity':<9} {said} {escape(found.says)}")
    out.print(f"kept in {short(done.directory)}" + (f", report in {short(page)}" if page else ""))


def short(path: Path) -> str:
    """A path as the user would type it here."""
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)


def status_of(done: Run, verdicts: list[Verdict]) -> int:
    """The exit status: the worst answer, or that the run could not be made."""
    return EXIT_STATUS[worst(verdicts)] if done.state == "finished" else 3
