"""The command line: one command per verb. The only module that prints or exits."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.live import Live
from rich.markup import escape
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from streambed import artifacts, planner, runs, view
from streambed.errors import StreambedError, UsageError, suggestion
from streambed.experiment import yaml_file
from streambed.experiment.schema import schema as schema_of
from streambed.history import EXIT_STATUS, Verdict, worst
from streambed.kinds.components import COMPONENTS
from streambed.plan import Plan
from streambed.runner import doctor as examination
from streambed.runner import launcher
from streambed.runs import RUNS, Run

app = typer.Typer(
    help="A test bed for streams: real Kafka and PySpark on an emulated network, on one machine, without root.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
out = Console(highlight=False, soft_wrap=True)
err = Console(stderr=True, highlight=False, soft_wrap=True)
COLOURS = {"holds": "green", "fails": "red", "unknown": "yellow"}

FileArgument = Annotated[Path, typer.Argument(metavar="FILE", help="The declaration, a YAML file.")]
RunArgument = Annotated[str, typer.Argument(metavar="RUN", help="latest, an experiment's name, NAME/TIME, or a run's folder.")]
IntoOption = Annotated[Path, typer.Option("--into", help="The folder that keeps runs.")]
SetOption = Annotated[list[str], typer.Option("--set", metavar="KEY=VALUE", help="Change one value, such as topology.links.0.delay=50ms.")]
SeedOption = Annotated[int | None, typer.Option("--seed", help="Draw everything random from another seed.")]


@app.command()
def run(
    file: FileArgument,
    changes: SetOption = [],  # noqa: B006 (typer copies it)
    seed: SeedOption = None,
    into: IntoOption = RUNS,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object at the end and nothing else.")] = False,
    with_report: Annotated[bool, typer.Option("--report/--no-report", help="Write the HTML page at the end.")] = True,
) -> None:
    """Run an experiment, judge it, and write its report.

    Exit status: 0 every check holds, 1 one fails, 2 one is unknown, 3 the run could not be made, 64 wrong usage.
    """
    plan = _prepare(file, changes, seed, into)
    text = file.read_text()
    done = launcher.launch(plan, text=text) if as_json else _watched(plan, text)
    verdicts, page = _judge_and_show(done, with_report=with_report, quiet=as_json)
    if as_json:
        typer.echo(json.dumps(_summary(done, verdicts, page), default=str))
    else:
        _show_end(done, verdicts, page)
    raise typer.Exit(_status(done, verdicts))


def _judge_and_show(done: Run, *, with_report: bool, quiet: bool) -> tuple[list[Verdict], Path | None]:
    try:
        return done.check(), _write_report(done, quiet=quiet) if with_report else None
    except OSError:
        if done.state == "finished":
            raise
        return [], None  # The run ended for want of space: its reason is what the user must hear.


def _prepare(file: Path, changes: list[str], seed: int | None, into: Path) -> Plan:
    experiment = yaml_file.read(file, changes, seed)
    return launcher.prepare(experiment, base=file.absolute().parent, into=into)


def _watched(plan: Plan, text: str) -> Run:
    """Run with what happens on the screen: lines for events, and on a terminal a table that moves."""
    out.print(view.headline(plan), style="bold")
    happenings = view.Happenings(plan)
    flow = view.Flow(Run(Path(plan.directory)), plan)
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


def _write_report(done: Run, *, quiet: bool) -> Path:
    from streambed.reports import page  # Altair takes a second to load: only who writes a report waits for it.

    if quiet:
        return page.write(done.directory)
    with out.status("writing the report"):
        return page.write(done.directory)


def _show_end(done: Run, verdicts: list[Verdict], page: Path | None) -> None:
    if done.state != "finished":
        err.print(f"[bold red]{done.state}[/]: {escape(done.reason)}")
    for verdict in verdicts:
        out.print(f"{verdict.check:<10} [{COLOURS[verdict.answer]}]{verdict.answer.upper():<7}[/] {escape(verdict.says)}")
    out.print(f"kept in {_short(done.directory)}" + (f", report in {_short(page)}" if page else ""))


def _short(path: Path) -> str:
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)


def _status(done: Run, verdicts: list[Verdict]) -> int:
    return EXIT_STATUS[worst(verdicts)] if done.state == "finished" else 3


def _summary(done: Run, verdicts: list[Verdict], page: Path | None) -> dict[str, Any]:
    return {
        "run": str(done.directory),
        "state": done.state,
        "reason": done.reason,
        "answer": worst(verdicts) if done.state == "finished" else "unknown",
        "verdicts": [asdict(verdict) for verdict in verdicts],
        "report": str(page) if page else None,
    }


@app.command()
def plan(file: FileArgument, changes: SetOption = [], seed: SeedOption = None) -> None:  # noqa: B006
    """Show what a run would do: addresses, routes, commands, timeline. Touches nothing."""
    typer.echo(planner.describe(_prepare(file, changes, seed, RUNS)))


@app.command()
def check(named: RunArgument = "latest", into: IntoOption = RUNS) -> None:
    """Judge a recorded run again, without running it."""
    found = runs.find(named, into)
    verdicts = found.check()
    _show_end(found, verdicts, None)
    raise typer.Exit(_status(found, verdicts))


@app.command()
def report(named: RunArgument = "latest", into: IntoOption = RUNS) -> None:
    """Write the HTML page of a run again."""
    typer.echo(_write_report(runs.find(named, into), quiet=False))


@app.command("list")
def list_runs(into: IntoOption = RUNS) -> None:
    """List the runs that are kept, oldest first."""
    found = runs.every(into)
    for kept in found:
        answer = worst(kept.verdicts()) if kept.verdicts() else ""
        out.print(
            f"{kept.name}/{kept.directory.name}  {kept.state:<11} {answer:<8} {escape(kept.reason.splitlines()[0] if kept.reason else '')}"
        )
    if not found:
        err.print(f"there is no run in {into}/ yet. Make one: streambed run FILE")


@app.command()
def logs(
    named: RunArgument, component: Annotated[str, typer.Argument(help="A component, or one of its processes.")], into: IntoOption = RUNS
) -> None:
    """Print what the processes of a component wrote."""
    found = runs.find(named, into)
    every = {path.stem: path for path in sorted((found.directory / "logs").glob("*.log"))}
    wanted = component.replace("/", ".")
    fitting = [path for stem, path in every.items() if stem == wanted or stem.startswith(f"{wanted}.")]
    if not fitting:
        raise UsageError(f"there is no log of '{component}' in {found.directory}. {suggestion(wanted, every)}")
    for path in fitting:
        typer.echo(f"==> {path.stem} <==" if len(fitting) > 1 else "", nl=len(fitting) > 1)
        typer.echo(path.read_text(errors="replace"), nl=False)


@app.command("rm")
def remove(named: Annotated[list[str], typer.Argument(metavar="RUN...", help="Runs to delete.")], into: IntoOption = RUNS) -> None:
    """Delete runs and all that they keep."""
    for found in [runs.find(name, into) for name in named]:
        runs.remove(found)
        out.print(f"removed {_short(found.directory)}")


@app.command()
def schema() -> None:
    """Print the JSON Schema of the declaration, for editors."""
    typer.echo(json.dumps(schema_of(), indent=1))


@app.command()
def doctor() -> None:
    """Say what this machine can emulate, by which means, and how to mend what is missing."""
    findings = examination.examine()
    for finding in findings:
        mark = "[green]ok [/]" if finding.good else "[yellow]no [/]" if finding.optional else "[red]NO [/]"
        out.print(
            f"{mark} {finding.what:<12} {escape(finding.says)}" + (f"\n    [bold]→ {escape(finding.mend)}[/]" if finding.mend else "")
        )
    raise typer.Exit(0 if all(finding.good or finding.optional for finding in findings) else 3)


@app.command()
def fetch(what: Annotated[list[str], typer.Argument(metavar="FILE|KIND...", help="Declarations, or kinds such as kafka.")]) -> None:
    """Get what an experiment or a kind of component needs: jars, verified, and class archives. Nothing is fetched during a run."""
    kinds = sorted({kind for word in what for kind in _kinds(word)})
    for note in _with_progress(lambda on_progress: artifacts.fetch(kinds, on_progress)):
        err.print(f"note: {escape(note)}")
    out.print(f"all there for {', '.join(kinds)}")


def _kinds(word: str) -> list[str]:
    if word in COMPONENTS:
        return [word]
    if not Path(word).exists():
        raise UsageError(f"'{word}' is neither a file nor a kind of component. {suggestion(word, COMPONENTS)}")
    return sorted({component.kind for component in yaml_file.read(Path(word)).components.values()})


def _with_progress(work: Callable[[artifacts.Progress], list[str]]) -> list[str]:
    if not err.is_terminal:
        return work(_say_once())
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=err, transient=True) as bar:
        task = bar.add_task("fetching", total=None)
        return work(lambda done, total, what: bar.update(task, completed=done, total=total or None, description=what))


def _say_once() -> artifacts.Progress:
    """Progress without a terminal: a line for each piece of work, none for each jar."""
    said: set[str] = set()

    def say(done: int, total: int, what: str) -> None:
        what = "fetching jars" if ":" in what else what
        if what not in said:
            said.add(what)
            err.print(escape(what))

    return say


def main() -> None:
    """Run the command line; errors become one message and an exit status."""
    try:
        status = app(standalone_mode=False)
    except typer.Exit as end:
        status = end.exit_code
    except StreambedError as error:
        err.print(escape(str(error)), style="red" if err.is_terminal else "")
        status = error.exit_status
    except (KeyboardInterrupt, typer.Abort):
        err.print("interrupted")
        status = 3
    except Exception as error:
        status = _usage(error)
    sys.exit(status if isinstance(status, int) else 0)


def _usage(error: Exception) -> int:
    """Wrong usage as the command-line library reports it; anything else is a defect of ours and shows its trace."""
    show = getattr(error, "show", None)
    if show is None:
        raise error
    show()
    return UsageError.exit_status


if __name__ == "__main__":
    main()
