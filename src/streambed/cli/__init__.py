"""The command line: one command per verb. The only package that prints or exits."""

from __future__ import annotations

import sys

from streambed.errors import StreambedError


def main() -> None:
    """Run the command line. An error on import, such as a broken kind, is one message too."""
    try:
        from streambed.cli.app import run_command_line
    except StreambedError as error:
        print(error, file=sys.stderr)
        sys.exit(error.exit_status)
    run_command_line()
