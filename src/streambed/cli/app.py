"""The table of commands, and how errors end."""

from __future__ import annotations

import sys
from collections.abc import Callable

import typer
from rich.markup import escape

from streambed.cli import convert, machine, query, run, runs, shell, spark_history, studies
from streambed.cli.options import err
from streambed.errors import StreambedError, UsageError

app = typer.Typer(
    help=(
        "A test bed for streams: real Kafka and PySpark on an emulated network, on one machine, "
        "without root."
    ),
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
COMMANDS: dict[str, Callable[..., None]] = {
    "run": run.run,
    "plan": run.plan,
    "convert": convert.convert,
    "study": studies.study,
    "compare": studies.compare,
    "check": runs.check,
    "report": runs.report,
    "list": runs.list_runs,
    "logs": runs.logs,
    "query": query.query,
    "history": spark_history.history,
    "rm": runs.remove,
    "shell": shell.shell,
    "schema": machine.schema,
    "doctor": machine.doctor,
    "fetch": machine.fetch,
}
for _name, _command in COMMANDS.items():
    app.command(_name, context_settings=shell.WHOLE if _name == "shell" else None)(_command)


def run_command_line() -> None:
    """Run a command; errors become one message and an exit status."""
    try:
        status = app(standalone_mode=False)
    except typer.Exit as end:
        status = end.exit_code
    except StreambedError as error:
        err.print(escape(str(error)), style="red" if err.is_terminal else "")
        status = error.exit_status
    except (KeyboardInterrupt, typer.Abort):
        err.print("interrupted")
        status = 3
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
