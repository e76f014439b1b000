"""Commands for recorded runs: check, report, list, logs, export, rm."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated, Any

import typer

from streambed.cli.options import (
    IntoOption,
    OpenOption,
    RunArgument,
    SparkMasterOption,
    keep_or_say,
    open_page,
    short,
    show_end,
    status_of,
    write_report,
)
from streambed.errors import FormatError, UsageError, WorldError, suggestion
from streambed.record import file_name, read_json, wait_until
from streambed.record.history import worst
from streambed.results import runs
from streambed.results.jepsen import history_lines
from streambed.results.runs import RUNS, Run

FOLLOW_S, STEP_S = 3600.0, 0.2
REASON_LENGTH = 60


def check(
    named: RunArgument = "latest", into: IntoOption = RUNS, spark_master: SparkMasterOption = ""
) -> None:
    """Check a recorded run again, without running it."""
    found = runs.find(named, into)
    if found.state == "running":
        raise WorldError(f"{short(found.directory)} is still running: check it when it has ended")
    judgement = found.judge(spark_master=spark_master)
    show_end(found, judgement.verdicts, None, fidelity=judgement.fidelity)
    keep_or_say(found, judgement)
    raise typer.Exit(status_of(found, judgement.verdicts))


def report(
    named: RunArgument = "latest", into: IntoOption = RUNS, opened: OpenOption = False
) -> None:
    """Write the HTML report of a run again."""
    found = runs.find(named, into)
    try:
        page = write_report(found, quiet=False)
    except OSError as error:
        raise WorldError(
            f"the report of {short(found.directory)} cannot be written: {error.strerror or error}. "
            "Free some space, or copy the run to another disk"
        ) from None
    typer.echo(page)
    if opened:
        open_page(page)


def list_runs(
    into: IntoOption = RUNS,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print a JSON array, an object for each run.")
    ] = False,
) -> None:
    """List the runs, oldest first."""
    listed = [_row(run) for run in runs.every(into)]
    if as_json:
        typer.echo(json.dumps([row.as_json() for row in listed]))
    elif listed:
        _print_table([_HEADINGS, *(row.cells(datetime.now()) for row in listed)])
    else:
        typer.echo(f"there is no run in {into}/ yet. Make one: streambed run FILE", err=True)


_HEADINGS = ("run", "when", "took", "state", "checks", "fidelity", "size")


@dataclass(frozen=True, kw_only=True)
class Row:
    """A run's line in `streambed list`."""

    run: Run
    failed: list[str]
    """The checks that fail."""
    doubtful: bool | None
    """Whether some of its time is in doubt; None if that was never judged."""
    damage: str = ""
    """What is wrong with a file of the run."""

    def cells(self, now: datetime) -> tuple[str, ...]:
        """Its line of the table; a reason comes last and may be cut."""
        run = self.run
        name, age = f"{run.name}/{run.directory.name}", ago(now - run.began)
        if self.damage:
            return name, age, "", f"damaged: {self.damage}", "", "", size(run.size_bytes)
        took = "" if run.took_s is None else f"{run.took_s:.0f} s"
        answer = f"fails: {', '.join(self.failed)}" if self.failed else worst(run.verdicts()) or ""
        fidelity = {None: "", True: "doubtful", False: "believed"}[self.doubtful]
        reason = run.reason.splitlines()[0][:REASON_LENGTH] if run.reason else ""
        state = f"{run.state}: {reason}" if reason else run.state
        return name, age, took, state, answer, fidelity, size(run.size_bytes)

    def as_json(self) -> dict[str, Any]:
        """The run as a JSON object."""
        run = self.run
        known = {
            "run": str(run.directory),
            "name": run.name,
            "began": run.began.isoformat(),
            "took_s": run.took_s,
            "size_bytes": run.size_bytes,
        }
        if self.damage:
            return {**known, "state": "damaged", "reason": self.damage}
        return {
            **known,
            "state": run.state,
            "reason": run.reason,
            "answer": worst(run.verdicts()),
            "verdicts": {name: verdict.answer for name, verdict in _verdicts(run).items()},
            "doubtful": self.doubtful,
        }


def _verdicts(run: Run) -> dict[str, Any]:
    return run.named_verdicts() if run.verdicts() else {}


def _row(run: Run) -> Row:
    try:
        return _whole_row(run)
    except FormatError as error:
        return Row(run=run, failed=[], doubtful=None, damage=str(error))


def _whole_row(run: Run) -> Row:
    """What is kept of a run; FormatError if a file of it is damaged."""
    run.mask, run.state  # noqa: B018
    failed = [name for name, verdict in _verdicts(run).items() if verdict.fails]
    kept = read_json(run.directory / "fidelity.json")
    return Row(run=run, failed=failed, doubtful=not kept["believable"] if kept else None)


def ago(age: timedelta) -> str:
    """An age in words, in a suitable unit."""
    seconds = age.total_seconds()
    if seconds < 60:
        return "just now"
    for limit, unit_s, unit in ((3600, 60, "min"), (86400 * 2, 3600, "h")):
        if seconds < limit:
            return f"{seconds / unit_s:.0f} {unit} ago"
    return f"{seconds / 86400:.0f} days ago"


def size(count: int) -> str:
    """A number of bytes as MB or GB."""
    return f"{count / 1e6:.1f} MB" if count < 1e9 else f"{count / 1e9:.1f} GB"


def _print_table(rows: Sequence[Sequence[str]]) -> None:
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        typer.echo("  ".join(cells).rstrip())


ComponentArgument = Annotated[
    str,
    typer.Argument(metavar="[COMPONENT]", help="One of its processes, too; default: list all."),
]
FollowOption = Annotated[
    bool, typer.Option("-f", "--follow", help="Keep printing while the run lasts.")
]
TailOption = Annotated[
    int | None, typer.Option("-n", "--tail", min=0, help="Only the last lines of each log.")
]


def logs(
    named: RunArgument = "latest",
    component: ComponentArgument = "",
    follow: FollowOption = False,
    tail: TailOption = None,
    into: IntoOption = RUNS,
) -> None:
    """Print what the processes of a component wrote."""
    found = runs.find(named, into)
    every = {path.stem: path for path in sorted((found.directory / "logs").glob("*.log"))}
    if not component:
        _list_logs(found, every)
        return
    chosen = _logs_of(component, every)
    if not chosen:
        known = {*every, *(stem.partition(".")[0] for stem in every)}
        raise UsageError(
            f"there is no log of '{component}' in {short(found.directory)}. "
            f"{suggestion(file_name(component), known)}"
        )
    read_bytes = {}
    for stem, path in chosen.items():
        read_bytes[stem] = _print_log(stem, path, tail, alone=len(chosen) == 1)
    if follow:
        _follow(found, chosen, read_bytes)


def _logs_of(component: str, every: dict[str, Path]) -> dict[str, Path]:
    """The logs of a component or of one process, by the name of the file."""
    wanted = file_name(component)
    logs = {}
    for stem, path in every.items():
        if stem == wanted or stem.startswith(f"{wanted}."):
            logs[stem] = path
    return logs


def _list_logs(found: Run, every: dict[str, Path]) -> None:
    names = {file_name(process.name): process.name for process in found.plan.processes}
    rows = [(names.get(stem, stem), size(path.stat().st_size)) for stem, path in every.items()]
    if rows:
        _print_table([("log of", "size"), *rows])
    typer.echo(f"Print one: streambed logs {found.name}/{found.directory.name} COMPONENT", err=True)


def _print_log(stem: str, path: Path, tail: int | None, *, alone: bool) -> int:
    """Print a log; returns how many bytes of it were read."""
    content = path.read_bytes()
    lines = content.decode(errors="replace").splitlines(keepends=True)
    if tail is not None:
        lines = lines[len(lines) - min(tail, len(lines)) :]
    if not alone:
        typer.echo(f"==> {stem} <==")
    typer.echo("".join(lines), nl=False)
    return len(content)


def _follow(found: Run, logs: dict[str, Path], read: dict[str, int]) -> None:
    """Print what is added to logs until the run has ended."""

    def over() -> bool:
        state = found.state  # Asked first: what was written before the end is printed.
        for stem, path in logs.items():
            with path.open("rb") as file:
                file.seek(read[stem])
                whole, newline, _ = file.read().rpartition(b"\n")
            if newline:
                read[stem] += len(whole) + 1
                _print_added(stem, whole.decode(errors="replace"), alone=len(logs) == 1)
        return state != "running"

    while not wait_until(over, limit_s=FOLLOW_S, step_s=STEP_S):
        pass


def _print_added(stem: str, text: str, *, alone: bool) -> None:
    for line in text.split("\n"):
        typer.echo(line if alone else f"{stem} | {line}")


def export(
    run: RunArgument = "latest",
    into: IntoOption = RUNS,
    jepsen: Annotated[
        bool, typer.Option("--jepsen", help="The form of Jepsen: operations in EDN.")
    ] = False,
) -> None:
    """Write a run's history in the form of another program."""
    if not jepsen:
        raise UsageError("say in which form: streambed export --jepsen RUN")
    for line in history_lines(runs.find(run, into).ledger()):
        typer.echo(line)


def remove(
    named: Annotated[list[str], typer.Argument(metavar="RUN...", help="Runs to delete.")],
    into: IntoOption = RUNS,
) -> None:
    """Delete runs and all that they keep."""
    for found in [runs.find(name, into) for name in named]:
        runs.remove(found)
        typer.echo(f"removed {short(found.directory)}")
