"""The command line: one command per verb. The only package that prints or exits."""

from __future__ import annotations

import os
import sys

COMPLETION = "_STREAMBED_COMPLETE"
"""Set by the completion scripts of shells."""


def main() -> None:
    """Run the command line. From here on a signal or an error ends it with one message."""
    from streambed.cli import startup

    try:
        startup.stop_in_order()
        _main(sys.argv[1:])
    except KeyboardInterrupt as stop:
        sys.exit(startup.end(stop))


def _main(words: list[str]) -> None:
    from streambed.cli import commands, startup

    asks_for_help = not words and COMPLETION not in os.environ
    if asks_for_help or words[:1] in (["-h"], ["--help"]):
        print(commands.help_text())
        return
    if words[:1] == ["--version"]:
        import streambed

        print(f"streambed {streambed.__version__}")
        return
    command = commands.COMMANDS.get(words[0]) if words else None
    if command is None or command.light:
        startup.load_when_used()
    from streambed.cli.app import run_command_line

    run_command_line()
