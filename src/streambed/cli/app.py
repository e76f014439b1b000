"""The commands as one program, and how errors end."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from streambed.cli.commands import COMMANDS, help_text
from streambed.errors import StreambedError, UsageError, suggestion

SETTINGS = {"help_option_names": ["-h", "--help"]}
WHOLE = {"shell": {"allow_interspersed_args": False}}
"""Options after the host belong to the command that runs there."""


class Interrupted(Exception):
    """Ctrl-C or another signal, wrapped because typer would end without a message."""

    def __init__(self, by: KeyboardInterrupt) -> None:
        super().__init__()
        self.by = by


class Commands(TyperGroup):
    """Commands whose modules are imported when they are called."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The names of all commands, for completion."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of a name; None if there is none."""
        if cmd_name not in COMMANDS:
            return None
        one = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
        settings = {**SETTINGS, **WHOLE.get(cmd_name, {})}
        command = COMMANDS[cmd_name]
        one.command(cmd_name, cls=command.load_form(), context_settings=settings)(command.load())
        return get_command(one)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """UsageError for a word that is no command."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            raise UsageError(f"there is no command '{args[0]}'. {suggestion(args[0], COMMANDS)}")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Call the command; a KeyboardInterrupt becomes Interrupted."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as stop:
            raise Interrupted(stop) from None

    def get_help(self, ctx: Any) -> str:
        """The same help that is printed before anything is imported."""
        return help_text()


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings=SETTINGS,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from streambed import __version__

        typer.echo(f"streambed {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    """A test bed for streams."""


def run_command_line() -> None:
    """Run a command; errors become one message and an exit status."""
    try:
        status = app(prog_name="streambed", standalone_mode=False)
    except typer.Exit as end:
        status = end.exit_code
    except Interrupted as interrupted:
        raise interrupted.by from None
    except StreambedError as error:
        typer.secho(str(error), err=True, fg="red" if sys.stderr.isatty() else None)
        status = error.exit_status
    except typer.Abort:
        raise KeyboardInterrupt from None
    except Exception as error:
        status = _usage(error)
    sys.exit(status if isinstance(status, int) else 0)


def _usage(error: Exception) -> int:
    """Show an error of the command-line library; anything else is a bug and is raised."""
    show = getattr(error, "show", None)
    if show is None:
        raise error
    show()
    return UsageError.exit_status
