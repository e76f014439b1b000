"""Commands for the machine: doctor, fetch, schema."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from streambed import artifacts
from streambed.cli.screen import err, out
from streambed.errors import UsageError, suggestion
from streambed.experiment import reading
from streambed.experiment.schema import schema as schema_of
from streambed.kinds.tables import COMPONENTS
from streambed.runner import doctor as examination


def schema() -> None:
    """Print the JSON Schema of the declaration, for editors."""
    typer.echo(json.dumps(schema_of(), indent=1))


def doctor() -> None:
    """Say what this machine can emulate, by which means, and how to mend what is missing."""
    findings = examination.examine()
    for finding in findings:
        mark = "[green]ok [/]" if finding.good else "[yellow]no [/]" if finding.optional else "[red]NO [/]"
        out.print(
            f"{mark} {finding.what:<12} {escape(finding.says)}" + (f"\n    [bold]→ {escape(finding.mend)}[/]" if finding.mend else "")
        )
    raise typer.Exit(0 if all(finding.good or finding.optional for finding in findings) else 3)


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
    return sorted({component.kind for component in reading.read(Path(word)).experiment.components.values()})


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
