"""Commands that read a declaration and run nothing: plan, convert, schema."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from streambed.cli.options import (
    BootstrapOption,
    FaultsOption,
    FileArgument,
    SeedOption,
    SetOption,
    SparkMasterOption,
    short,
)
from streambed.declare import reading
from streambed.errors import UsageError
from streambed.planner.description import describe
from streambed.planner.existing import on_existing
from streambed.runner import launcher


def plan(
    file: FileArgument,
    changes: SetOption = [],  # noqa: B006 (typer copies it)
    seed: SeedOption = None,
    profile: FaultsOption = "",
    bootstrap: BootstrapOption = "",
    spark_master: SparkMasterOption = "",
) -> None:
    """Show what a run would do: addresses, routes, commands, timeline. Changes nothing."""
    declared = reading.read(file, changes, seed, profile)
    experiment = on_existing(declared.experiment, bootstrap=bootstrap, spark_master=spark_master)
    typer.echo(describe(launcher.prepare(experiment, base=declared.base, notes=declared.notes)))


def convert(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="GraphML of stream2gym or streamline, or YAML with a generated topology.",
        ),
    ],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="The file to write; without it, print.")
    ] = None,
    changes: SetOption = [],  # noqa: B006 (typer copies it)
    seed: SeedOption = None,
) -> None:
    """Write a declaration as plain YAML: a stream2gym file, or generated YAML.

    The result names every node and link. Notes on ignored or changed parts are comments.
    Paths are relative to the output file, or to the working directory if it is printed.
    """
    if output is None:
        typer.echo(reading.convert(file, changes, seed, base=Path.cwd()).text, nl=False)
        return
    folder = output.absolute().parent
    if not folder.is_dir():
        raise UsageError(f"{output} cannot be written: there is no folder {folder}")
    declaration = reading.convert(file, changes, seed, base=folder)
    try:
        output.write_text(declaration.text)
    except OSError as error:
        raise UsageError(f"{output} cannot be written: {error.strerror}") from None
    for note in declaration.notes:
        typer.echo(f"note: {note}", err=True)
    typer.echo(f"written to {short(output)}")


def schema() -> None:
    """Print the JSON Schema of the declaration, for editors."""
    from streambed.declare.yaml.schema import schema as schema_of

    typer.echo(json.dumps(schema_of(), indent=1))
