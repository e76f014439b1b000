"""Commands for many runs: study, compare."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
from rich.progress import Progress as Bar

from streambed.cli.options import COLOURS, IntoOption, JsonOption, err, out, short
from streambed.declare.yaml import study_file
from streambed.record.history import EXIT_STATUS, NOTHING_CHECKED, worst
from streambed.results import comparison, runs
from streambed.results.comparison import Comparison, number_text
from streambed.results.declared import Differing
from streambed.results.facts import UNCHECKED
from streambed.results.runs import RUNS
from streambed.results.studies import StudyResult
from streambed.runner import study as trials
from streambed.runner.study import OnProgress, Progress

FirstRunArgument = Annotated[
    str,
    typer.Argument(
        metavar="RUN", help="A: a run's folder, NAME/TIME, an experiment's name, or latest."
    ),
]
SecondRunArgument = Annotated[
    str, typer.Argument(metavar="RUN", help="B: the run to compare with A.")
]
PageOption = Annotated[
    bool, typer.Option("--page/--no-page", help="Write comparison.html into B's folder.")
]
DECLARED = 20
"""Most differences of declarations shown on the terminal."""
TRIALS = 3
"""Most trials named for a check that does not hold."""
REASON = 200
"""Most characters of a reason shown on the terminal; the table has all of it."""


def study(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The study, a YAML file.")],
    into: IntoOption = RUNS,
    repetitions: Annotated[
        int | None,
        typer.Option(
            "--repetitions", min=1, help="Number of trials per point, in place of the file's."
        ),
    ] = None,
    again: Annotated[
        bool, typer.Option("--again", help="Forget the trials that are kept and start over.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Run an experiment many times with something changed; run it again to resume.

    Exit status: the worst answer of all trials as for run; 3 if none finished, or if it was
    interrupted.
    """
    declared = study_file.read(file, repetitions)
    result = _run_with_progress(declared, into=into, again=again, quiet=as_json)
    page = _page(result) if result.finished else None
    if as_json:
        typer.echo(json.dumps(_outcome(result, page), default=str))
    else:
        show(result, page, file)
    if result.interrupted or not result.finished:
        raise typer.Exit(3)
    raise typer.Exit(EXIT_STATUS[worst(result.verdicts())])


def _run_with_progress(
    declared: study_file.DeclaredStudy, *, into: Path, again: bool, quiet: bool
) -> StudyResult:
    """Run a study with a progress bar on a terminal, and a line for each trial elsewhere."""
    if quiet:
        return trials.carry_out(declared, into=into, again=again)
    points = len(declared.points)
    out.print(
        f"{declared.study.name}: {points} point{'s' * (points != 1)}, {len(declared.trials)} "
        f"trials of {declared.study.experiment}",
        style="bold",
    )
    if not out.is_terminal:
        return trials.carry_out(declared, into=into, again=again, on_progress=_say_end)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[left]}"),
    )
    with Bar(*columns, console=out, transient=True) as bar:
        return trials.carry_out(declared, into=into, again=again, on_progress=_mover(bar))


def _mover(bar: Bar) -> OnProgress:
    task = bar.add_task("", total=None, left="")

    def move(progress: Progress) -> None:
        left = f"about {_minutes(progress.left_s)} left"
        bar.update(
            task,
            description=escape(progress.trial.name),
            total=progress.total,
            completed=progress.done + progress.share,
            left=left,
        )
        _say_end(progress)

    return move


def _say_end(progress: Progress) -> None:
    """A line for each trial that has ended."""
    if not progress.ended:
        return
    ended = progress.ended
    left = f"; about {_minutes(progress.left_s)} left" if progress.left_s else ""
    reason = f": {ended.reason[:REASON]}" if ended.reason else ""
    outcome = f"{ended.state} in {ended.took_s:.1f} s{reason}{left}"
    out.print(escape(f"{progress.done}/{progress.total}  {progress.trial.name}: {outcome}"))


def _minutes(seconds: float) -> str:
    if seconds < 100:
        return f"{round(seconds)} s"
    if seconds < 6000:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


def _page(result: StudyResult) -> Path:
    # Altair takes a second to load, so only commands that write a page import it.
    from streambed.reports import study as report

    return report.write(result)


def _outcome(result: StudyResult, page: Path | None) -> dict[str, Any]:
    return {
        "study": str(result.folder),
        "trials": len(result.declared.trials),
        "finished": len(result.finished),
        "failures": result.failures,
        "doubts": result.doubts(),
        "interrupted": result.interrupted,
        "answer": worst(result.verdicts()) if result.finished else "unknown",
        "summary": result.summary().to_dicts(),
        "page": str(page) if page else None,
    }


def show(result: StudyResult, page: Path | None, file: Path) -> None:
    """Print how the trials of a study ended, and its summary."""
    for name, reason in result.failures.items():
        err.print(f"[bold red]{escape(name)}[/] did not finish: {escape(reason)}")
    for name, says in result.doubts().items():
        err.print(f"[yellow]{escape(name)}[/] is doubtful: {escape(says)}")
    _print_summary(result)
    answer = worst(result.verdicts())
    if result.finished and answer is None:
        out.print(NOTHING_CHECKED)
    elif answer:
        out.print(
            f"checks of {len(result.finished)} trials: [{COLOURS[answer]}]{answer.upper()}[/]"
        )
        _print_not_holding(result)
    if result.interrupted:
        progress = f"{len(result.finished)} of {len(result.declared.trials)} trials"
        err.print(f"interrupted after {progress}. Resume with: streambed study {file}")
    files = f"kept in {short(result.folder)}"
    if page:
        files += f", page in {short(page)}"
    out.print(files)


def _print_not_holding(result: StudyResult) -> None:
    """Which checks do not hold, and in which trials."""
    for check, names in result.not_holding().items():
        more = f" and {len(names) - TRIALS} more" if len(names) > TRIALS else ""
        count = f"{len(names)} of {len(result.finished)} trials"
        out.print(escape(f"  {check} in {count}: {'; '.join(names[:TRIALS])}{more}"))


def _print_summary(result: StudyResult) -> None:
    keys = result.declared.study.keys()
    table = []
    for row in result.summary().iter_rows(named=True):
        mean = interval = ""
        if row["mean"] is not None:
            mean = number_text(row["mean"], row["unit"])
        if row["low"] is not None:
            low = number_text(row["low"], row["unit"])
            interval = f"{low} to {number_text(row['high'], row['unit'])}"
        point = [row[key] or "" for key in keys]
        trial_count = f"{row['n']} of {row['trials']}"
        table.append((*point, row["measure"], mean, interval, trial_count))
    names = [result.declared.study.label(key) for key in keys]
    headings = (*names, "measure", "mean", "95 % interval", "trials")
    print_aligned(headings, table, texts=len(keys) + 1)


def compare(
    first: FirstRunArgument,
    second: SecondRunArgument,
    into: IntoOption = RUNS,
    as_json: JsonOption = False,
    with_page: PageOption = True,
) -> None:
    """Compare two runs: verdicts and losses first, then what differs, then statistics."""
    a, b = runs.find(first, into), runs.find(second, into)
    compared = comparison.compare_runs(a, b)
    page = _comparison_page(compared) if with_page else None
    if as_json:
        typer.echo(json.dumps(_side_by_side(compared, page), default=str))
        return
    for letter, run in (("A", a), ("B", b)):
        state = "" if run.state == "finished" else f", {run.state}: {run.reason}"
        out.print(escape(f"{letter} {short(run.directory)}{state}"))
    _print_facts(compared)
    _print_declared(compared.declared)
    _print_statistics(compared)
    if page:
        out.print(f"page in {short(page)}")


def _comparison_page(compared: Comparison) -> Path:
    from streambed.reports import comparison as report

    return report.write(compared)


def _print_facts(compared: Comparison) -> None:
    facts = [(fact.name, fact.a, fact.b) for fact in (*compared.verdicts, *compared.counts)]
    print_aligned(("", "A", "B"), facts, texts=1)
    for fact in compared.verdicts:
        for letter, answer, says in zip("AB", (fact.a, fact.b), fact.reasons, strict=True):
            if answer not in (UNCHECKED, "HOLDS", "BELIEVED"):
                out.print(escape(f"  {fact.name} {answer} in {letter}: {says}"))


def _print_declared(declared: Sequence[Differing]) -> None:
    out.print("declared differently:" if declared else "both declare the same", style="bold")
    for key, was, now in declared[:DECLARED]:
        out.print(escape(f"  {key}: A {was}, B {now}"))
    if (more := len(declared) - DECLARED) > 0:
        out.print(f"  and {more} more: the page has all of them")


def _print_statistics(compared: Comparison) -> None:
    out.print("what differs:" if compared.differing else "nothing clearly differs", style="bold")
    for says in compared.differing:
        out.print(escape(f"  {says}"))
    headings = ("statistic", "A", "B", "B − A", "95 % interval", "p")
    measured = [(one.measure, *one.cells) for one in compared.statistics if one.difference]
    print_aligned(headings, measured, texts=1)
    for says in compared.unavailable:
        out.print(escape(says))
    out.print(comparison.CAUTION, style="dim")


def print_aligned(headings: Sequence[str], rows: Sequence[Sequence[str]], *, texts: int) -> None:
    """Print a table: the first `texts` columns are text, the rest numbers. Lines never wrap."""
    lines = [headings, *rows]
    widths = [max(len(line[at]) for line in lines) for at in range(len(headings))]
    for line in lines:
        cells = [
            cell.ljust(width) if at < texts else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        out.print(escape("  ".join(cells).rstrip()))


def _side_by_side(compared: Comparison, page: Path | None) -> dict[str, Any]:
    runs_by_letter = {"a": compared.a, "b": compared.b}
    return {
        **{letter: str(run.directory) for letter, run in runs_by_letter.items()},
        "doubts": {
            letter: run.fidelity().says
            for letter, run in runs_by_letter.items()
            if not run.fidelity().believable
        },
        "verdicts": [{**asdict(fact), "differs": fact.differs} for fact in compared.verdicts],
        "counts": [{**asdict(fact), "differs": fact.differs} for fact in compared.counts],
        "differing": compared.differing,
        "declared": [{"key": key, "a": was, "b": now} for key, was, now in compared.declared],
        "measures": [
            {**asdict(one), "says": one.says, "clear": one.clear} for one in compared.statistics
        ],
        "page": str(page) if page else None,
    }
