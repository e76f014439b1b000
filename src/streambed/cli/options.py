"""What commands share: consoles, common arguments and options, and the summary of a run."""

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
    """Write the report of a run; returns its path."""
    # Altair takes a second to load, so only commands that write a report import it.
    from streambed.reports import page

    if quiet:
        return page.write(done.directory)
    with out.status("writing the report"):
        return page.write(done.directory)


def show_end(done: Run, verdicts: list[Verdict], page: Path | None) -> None:
    """Print how a run ended, its verdicts and its folder."""
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
        fidelity = done.fidelity()
        answer = "[green]BELIEVED[/]" if fidelity.believable else "[yellow]DOUBTFUL[/]"
        out.print(f"{'fidelity':<9} {answer} {escape(fidelity.says)}")
    out.print(f"kept in {short(done.directory)}" + (f", report in {short(page)}" if page else ""))


def short(path: Path) -> str:
    """A path relative to the working directory, if it is below it."""
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)


def status_of(done: Run, verdicts: list[Verdict]) -> int:
    """The exit status: that of the worst verdict, or 3 if the run did not finish."""
    return EXIT_STATUS[worst(verdicts)] if done.state == "finished" else 3
