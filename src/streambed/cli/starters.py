"""Commands that write files to start from: new, examples."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Annotated

import typer

import streambed
from streambed.cli.options import short
from streambed.errors import MissingError, UsageError, suggestion

PACKAGE = Path(streambed.__file__).parent
TEMPLATES = Path(__file__).parent / "templates"
DEFAULT = "kafka"
DECLARATION = "experiment.yaml"
NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,31}", re.IGNORECASE)
UNWANTED = shutil.ignore_patterns("__pycache__", "runs")


def new(
    name: Annotated[
        str, typer.Argument(metavar="[NAME]", help="The experiment's name, and its folder.")
    ] = "",
    template: Annotated[
        str, typer.Option("--template", "-t", help=f"What to start from; default: {DEFAULT}.")
    ] = DEFAULT,
    listed: Annotated[
        bool, typer.Option("--list", help="List the templates and write nothing.")
    ] = False,
) -> None:
    """Write a new experiment from a template.

    The folder NAME is made; files that exist are never overwritten.
    """
    if listed:
        for each in templates():
            typer.echo(f"{each:<12} {_first_comment(TEMPLATES / each / DECLARATION)}")
        return
    if template not in templates():
        raise UsageError(f"there is no template '{template}'. {suggestion(template, templates())}")
    name = name or template
    if not NAME.fullmatch(name):
        raise UsageError(f"'{name}' cannot be a name: use letters, digits and hyphens, at most 32")
    folder = _copy(TEMPLATES / template, Path(name))
    declaration = folder / DECLARATION
    declaration.write_text(declaration.read_text().replace("name: NAME", f"name: {name}", 1))
    for file in sorted(folder.iterdir()):
        typer.echo(f"written {short(file)}")
    typer.echo(f"Next: streambed run {short(declaration)}")


def examples(
    name: Annotated[
        str, typer.Argument(metavar="[NAME]", help="The example to copy; without it, list all.")
    ] = "",
    into: Annotated[
        Path, typer.Option("--to", help="The folder that gets the copy, NAME inside it.")
    ] = Path(),
) -> None:
    """List the examples, or copy one into a folder."""
    home = examples_home()
    known = sorted(path.parent.name for path in home.glob("*/README.md"))
    if not name:
        for each in known:
            typer.echo(f"{each:<12} {_heading(home / each / 'README.md')}")
        typer.echo(f"They are in {short(home)}. Copy one: streambed examples NAME")
        return
    if name not in known:
        raise UsageError(f"there is no example '{name}'. {suggestion(name, known)}")
    folder = _copy(home / name, into / name)
    typer.echo(f"copied to {short(folder)}/; read {short(folder / 'README.md')}")


def templates() -> list[str]:
    """The names of the templates."""
    return sorted(path.parent.name for path in TEMPLATES.glob(f"*/{DECLARATION}"))


def examples_home() -> Path:
    """Where the examples are: in the package if it is installed, else in the checkout."""
    for home in (PACKAGE / "examples", PACKAGE.parents[1] / "examples"):
        if home.is_dir():
            return home
    raise MissingError(f"the examples are missing next to {PACKAGE}: install streambed again")


def _copy(source: Path, target: Path) -> Path:
    if target.exists() or target.is_symlink():
        raise UsageError(f"{target} exists already, and nothing is overwritten: give another name")
    try:
        shutil.copytree(source, target, ignore=UNWANTED)
    except OSError as error:
        raise UsageError(f"{target} cannot be written: {error.strerror or error}") from None
    return target.absolute()


def _first_comment(file: Path) -> str:
    return file.read_text().partition("\n")[0].removeprefix("# ")


def _heading(page: Path) -> str:
    return page.read_text().partition("\n")[0].removeprefix("# ")
