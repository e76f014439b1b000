"""Commands for the machine: doctor, fetch."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from streambed import artifacts
from streambed.cli.options import err, out
from streambed.declare import reading
from streambed.errors import UsageError, suggestion
from streambed.kinds.components.component import Needs
from streambed.kinds.tables import COMPONENTS
from streambed.runner import doctor as examination


def doctor() -> None:
    """Check this machine: what it can emulate, and how to fix what is missing."""
    findings = examination.examine()
    for finding in findings:
        if finding.good:
            mark = "[green]ok [/]"
        else:
            mark = "[dim]–  [/]" if finding.optional else "[red]NO [/]"
        out.print(f"{mark} {finding.what:<12} {escape(finding.says)}")
        if finding.mend:
            out.print(f"    [bold]→ {escape(finding.mend)}[/]")
    raise typer.Exit(0 if all(finding.good or finding.optional for finding in findings) else 3)


def fetch(
    what: Annotated[
        list[str],
        typer.Argument(metavar="FILE|KIND...", help="Declarations, or kinds such as kafka."),
    ],
) -> None:
    """Fetch the files that an experiment or a kind needs.

    Jars, servers and class archives; nothing is fetched during a run.
    """
    asked: dict[str, Needs] = {}
    for word in what:
        asked |= _needs(word)
    needs = [need for each in asked.values() for need in each]
    for note in _with_progress(lambda on_progress: artifacts.fetch(needs, on_progress)):
        err.print(f"note: {escape(note)}")
    for name, each in sorted(asked.items()):
        out.print(f"{escape(name)}: {'ready' if each else 'needs nothing'}")


def _needs(word: str) -> dict[str, Needs]:
    """What a kind needs, or each kind of a file's components that needs anything."""
    if word in COMPONENTS:
        return {word: COMPONENTS[word].needs}
    if not Path(word).exists():
        raise UsageError(
            f"'{word}' is neither a file nor a kind of component. {suggestion(word, COMPONENTS)}"
        )
    components = reading.read(Path(word)).experiment.components.values()
    needed = {component.kind: component.needs for component in components if component.needs}
    return needed or {word: ()}


def _with_progress(work: Callable[[artifacts.Progress], list[str]]) -> list[str]:
    if not err.is_terminal:
        return work(_say_once())
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=err, transient=True) as bar:
        task = bar.add_task("fetching", total=None)

        def show(step: artifacts.Step) -> None:
            bar.update(
                task,
                completed=step.done_bytes,
                total=step.total_bytes or None,
                description=step.what,
            )

        return work(show)


def _say_once() -> artifacts.Progress:
    """Progress without a terminal: a line for each piece of work, none for each jar."""
    printed: set[str] = set()

    def say(step: artifacts.Step) -> None:
        what = step.what
        if step.stage == "check":
            what = f"checking {step.what}"
        elif step.stage == "download":
            what = "fetching jars"
        if what not in printed:
            printed.add(what)
            err.print(escape(what))

    return say
