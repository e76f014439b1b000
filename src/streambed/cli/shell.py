"""The command that enters a host of a running experiment: shell."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from streambed.cli.options import IntoOption
from streambed.results.runs import RUNS
from streambed.runner.visits.namespaces import command_on
from streambed.runner.visits.shell import choose


def shell(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="[RUN] HOST [COMMAND]...",
            help="Without RUN the newest that runs, without COMMAND your shell.",
        ),
    ],
    into: IntoOption = RUNS,
) -> None:
    """Enter a host of a running experiment, or run a command in its namespaces.

    Exit status: that of the command.
    """
    run, node, command = choose(words, into)
    argv = command_on(run.directory, node, command or [os.environ.get("SHELL", "/bin/sh")])
    variables = {"TMPDIR": "/tmp", "STREAMBED_RUN": str(run.directory), "STREAMBED_NODE": node}
    sys.stdout.flush()
    os.execve(argv[0], argv, {**os.environ, **variables})
