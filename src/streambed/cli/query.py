"""The command that asks a store of a run: query."""

from __future__ import annotations

from typing import Annotated

import typer
from rich import box
from rich.table import Table

from streambed.cli.options import IntoOption, RunArgument, err, out
from streambed.results import runs
from streambed.results.runs import RUNS


def query(
    named: RunArgument,
    store: Annotated[str, typer.Argument(metavar="STORE", help="A store of the run.")],
    text: Annotated[
        str,
        typer.Argument(
            metavar="TEXT", help="One statement or command in the store's own language."
        ),
    ],
    as_csv: Annotated[bool, typer.Option("--csv", help="Print comma-separated values.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print a JSON array, an object for each row.")
    ] = False,
    into: IntoOption = RUNS,
) -> None:
    """Query a store of a run. For a finished run a copy is queried, so that its data stay as is."""
    rows = runs.find(named, into).query(store, text)
    if as_json:
        typer.echo(rows.write_json())
        return
    if as_csv:
        typer.echo(rows.write_csv(), nl=False)
        return
    if not rows.columns:
        err.print("done; the store had nothing to show")
        return
    table = Table(*rows.columns, box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for row in rows.iter_rows():
        table.add_row(*("" if value is None else str(value) for value in row))
    out.print(table)
