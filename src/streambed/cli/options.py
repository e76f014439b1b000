"""What commands share: consoles, common arguments and options, and the summary of a run."""

from __future__ import annotations

import os
import webbrowser
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from streambed.record import history

if TYPE_CHECKING:
    from rich.console import Console

    from streambed.record.fidelity import Fidelity
    from streambed.record.history import Verdict
    from streambed.results.runs import Judgement, Run

    out: Console
    err: Console
else:

    def __getattr__(name: str) -> Console:
        """The consoles `out` and `err`: commands that print plain text never load rich."""
        if name in ("out", "err"):
            return console(name)
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


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
JsonOption = Annotated[
    bool, typer.Option("--json", help="Print one JSON object at the end and nothing else.")
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
FaultsOption = Annotated[
    str,
    typer.Option(
        "--faults",
        metavar="PROFILE",
        help="Add a set of faults: flaky_wan, rolling_restart, leader_under_attack, split_brain or "
        "bad_clock.",
    ),
]
OpenOption = Annotated[bool, typer.Option("--open", help="Open the report in your browser.")]
SeedOption = Annotated[
    int | None, typer.Option("--seed", help="Draw everything random from another seed.")
]


@cache
def console(name: str) -> Console:
    """The console for results, or that for errors and notes."""
    from rich.console import Console

    return Console(stderr=name == "err", highlight=False, soft_wrap=True)


def write_report(done: Run, *, quiet: bool) -> Path:
    """Write the report of a run; returns its path."""
    # Altair takes a second to load, so only commands that write a report import it.
    from streambed.reports import page

    if quiet:
        return page.write(done.directory)
    with console("out").status("writing the report"):
        return page.write(done.directory)


def open_page(page: Path) -> None:
    """Open a page in the user's browser; say where it is if there is none."""
    # Without a display webbrowser may start a text browser in this terminal.
    graphical = any(os.environ.get(name) for name in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY"))
    if not (graphical and webbrowser.open(page.absolute().as_uri())):
        typer.echo(f"There is no browser here. The report is {page}", err=True)


def keep_or_say(done: Run, judgement: Judgement) -> None:
    """Keep a judgement in the run's folder, or say why that could not be."""
    try:
        done.keep(judgement)
    except OSError as error:
        reason = error.strerror or error
        typer.echo(f"the verdicts could not be kept in {short(done.directory)}: {reason}", err=True)


def show_end(
    done: Run, verdicts: list[Verdict], page: Path | None, *, fidelity: Fidelity | None = None
) -> None:
    """Print how a run ended, its verdicts and its folder."""
    from rich.markup import escape

    out, err = console("out"), console("err")
    if done.state != "finished":
        err.print(f"[bold red]{done.state}[/]: {escape(done.reason)}")
    for verdict in done.mask.verdicts(verdicts):
        out.print(
            f"{verdict.check:<10} [{COLOURS[verdict.answer]}]{verdict.answer.upper():<7}[/] "
            f"{escape(verdict.says)}"
        )
    if done.state == "finished":
        if not verdicts:
            out.print(history.NOTHING_CHECKED)
        fidelity = fidelity or done.fidelity()
        out.print(f"{'fidelity':<9} {_fidelity_line(verdicts, fidelity)}")
    files = f"kept in {short(done.directory)}"
    if page:
        files += f", report in {short(page)}"
    out.print(files)


def _fidelity_line(verdicts: list[Verdict], fidelity: Fidelity) -> str:
    """How well the network did; a warning, with the remedy, only if a verdict depends on it."""
    from rich.markup import escape

    from streambed.record.fidelity import REMEDY

    if fidelity.believable:
        return f"[green]BELIEVED[/] {escape(fidelity.says)}"
    if any(verdict.doubted for verdict in verdicts):
        return f"[yellow]DOUBTFUL[/] {escape(fidelity.says)}. {escape(REMEDY)}"
    if fidelity.spans and verdicts:
        return f"[dim]{escape(fidelity.says)}; no verdict depends on it[/]"
    return f"[yellow]DOUBTFUL[/] {escape(fidelity.says)}"


def short(path: Path) -> str:
    """A path relative to the working directory, if it is below it."""
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)


def status_of(done: Run, verdicts: list[Verdict]) -> int:
    """The exit status: that of the worst verdict, or 3 if the run did not finish."""
    return history.EXIT_STATUS[history.worst(verdicts)] if done.state == "finished" else 3
