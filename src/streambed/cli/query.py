"""The command query: a statement or command for a store of a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import polars as pl
import typer
from rich import box
from rich.table import Table

from streambed.cli.options import IntoOption, RunArgument, err, out
from streambed.errors import UsageError, suggestion
from streambed.results import runs
from streambed.results.runs import RUNS
from streambed.stores.store import Address

StoreArgument = Annotated[
    str, typer.Argument(metavar="STORE", help="A store of the run; without it, list them.")
]
TextArgument = Annotated[
    str,
    typer.Argument(metavar="TEXT", help="One statement or command in the store's own language."),
]
CsvOption = Annotated[bool, typer.Option("--csv", help="Print comma-separated values.")]
JsonOption = Annotated[
    bool, typer.Option("--json", help="Print a JSON array, an object for each row.")
]


def query(
    named: RunArgument,
    store: StoreArgument = "",
    text: TextArgument = "",
    as_csv: CsvOption = False,
    as_json: JsonOption = False,
    into: IntoOption = RUNS,
) -> None:
    """Query a store of a run.

    For a finished run a copy is queried, so that its data stay as they are.
    """
    run = runs.find(named, into)
    if not text:
        raise UsageError(_what_to_give(named, run.plan.stores, store))
    rows = run.query(store, text)
    if as_json:
        typer.echo(with_plain_numbers(rows).write_json())
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


def _what_to_give(named: str, stores: Mapping[str, Address], store: str) -> str:
    """What to write if STORE or TEXT is missing: the run's stores, or how to query that one."""
    if not stores:
        return f"the run '{named}' has no store that can be queried"
    if store and store not in stores:
        return f"the run '{named}' has no store '{store}'. {suggestion(store, stores)}"
    if store:
        engine = stores[store].engine
        return f"TEXT is missing: streambed query {named} {store} TEXT, in the language of {engine}"
    names = ", ".join(f"{name} ({address.engine})" for name, address in stores.items())
    return f"the stores of '{named}': {names}. Query one: streambed query {named} STORE TEXT"


def with_plain_numbers(rows: pl.DataFrame) -> pl.DataFrame:
    """Decimals as whole or floating numbers: JSON would have them as text."""
    plain = []
    for name, kind in rows.schema.items():
        if isinstance(kind, pl.Decimal):
            whole = not kind.scale or bool((rows[name] == rows[name].round(0)).all())
            plain.append(pl.col(name).cast(pl.Int64 if whole else pl.Float64, strict=False))
        elif kind == pl.Int128:
            plain.append(pl.col(name).cast(pl.Int64, strict=False))
    return rows.with_columns(plain)
