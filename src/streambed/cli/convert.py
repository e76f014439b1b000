"""The command that turns the files of another program into a declaration: convert."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from streambed.cli.options import SeedOption, SetOption, err, out, short
from streambed.declare import reading
from streambed.errors import UsageError


def convert(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A GraphML file of stream2gym or streamline.")
    ],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="The file to write; without it, print.")
    ] = None,
    changes: SetOption = [],  # noqa: B006 (typer copies it)
    seed: SeedOption = None,
) -> None:
    """Convert a stream2gym experiment to YAML. Notes on ignored or changed parts are comments.

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
        err.print(f"note: {escape(note)}")
    out.print(f"written to {escape(short(output))}")
