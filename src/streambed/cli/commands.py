"""The table of commands, with what `streambed --help` says of each.

A command's module is imported when the command is called: help and completion stay quick.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any, NamedTuple

USAGE = "Usage: streambed [OPTIONS] COMMAND [ARGS]..."
ABOUT = """\
A test bed for streams: real Kafka and PySpark on an emulated network, on one machine, without
root."""
OPTIONS = {
    "-h, --help": "Show this message, or that of a command: streambed run -h",
    "--version": "Show the version.",
    "--install-completion": "Install completion for your shell.",
    "--show-completion": "Print the completion script of your shell.",
}


class Command(NamedTuple):
    """One command: the function that carries it out, and its line in the help."""

    function: str
    """MODULE:FUNCTION, in this package."""
    says: str
    """The first line of the function's docstring."""
    light: bool = False
    """It rarely needs data frames: polars and other large libraries load on first use."""
    form: str = ""
    """MODULE:CLASS that parses its arguments, if not the usual one."""

    def load(self) -> Any:
        """Import its module and return its function."""
        return _load(self.function)

    def load_form(self) -> Any:
        """Import and return the class that parses its arguments; None for the usual one."""
        return _load(self.form) if self.form else None


def _load(name: str) -> Any:
    module, _, attribute = name.partition(":")
    return getattr(import_module(f"streambed.cli.{module}"), attribute)


GROUPS: dict[str, dict[str, Command]] = {
    "Begin": {
        "doctor": Command(
            "machine:doctor",
            "Check this machine: what it can emulate, and how to fix what is missing.",
            light=True,
        ),
        "new": Command("starters:new", "Write a new experiment from a template.", light=True),
        "examples": Command(
            "starters:examples", "List the examples, or copy one into a folder.", light=True
        ),
        "fetch": Command(
            "machine:fetch", "Fetch the files that an experiment or a kind needs.", light=True
        ),
    },
    "Run": {
        "plan": Command(
            "declarations:plan",
            "Show what a run would do: addresses, routes, commands, timeline. Changes nothing.",
            light=True,
        ),
        "run": Command("run:run", "Run an experiment, check it, and write its report.", light=True),
        "study": Command(
            "studies:study",
            "Run an experiment many times with something changed; run it again to resume.",
        ),
        "shell": Command(
            "shell:shell",
            "Enter a host of a running experiment, or run a command in its namespaces.",
            light=True,
        ),
        "up": Command(
            "up:up",
            "Run real servers on localhost until Ctrl-C, or while a command runs.",
            form="up:WithCommand",
        ),
    },
    "Look at runs": {
        "list": Command("runs:list_runs", "List the runs, oldest first.", light=True),
        "check": Command("runs:check", "Check a recorded run again, without running it."),
        "report": Command("runs:report", "Write the HTML report of a run again."),
        "compare": Command(
            "studies:compare",
            "Compare two runs: verdicts and losses first, then what differs, then statistics.",
        ),
        "why": Command(
            "details:why",
            "Show what happened to one record: when it was sent, who read it, and how it was lost.",
        ),
        "logs": Command("runs:logs", "Print what the processes of a component wrote.", light=True),
        "query": Command("query:query", "Query a store of a run."),
        "topics": Command(
            "details:topics",
            "Show topics, partitions, leaders, replicas in sync, consumer groups and lag of a run.",
        ),
        "history": Command(
            "spark_history:history",
            "Show a run's Spark jobs in Spark's history server, until Ctrl-C.",
            light=True,
        ),
        "export": Command("runs:export", "Write a run's history in the form of another program."),
        "rm": Command("runs:remove", "Delete runs and all that they keep.", light=True),
    },
    "Declarations": {
        "convert": Command(
            "declarations:convert",
            "Write a declaration as plain YAML: a stream2gym file, or generated YAML.",
            light=True,
        ),
        "schema": Command(
            "declarations:schema",
            "Print the JSON Schema of the declaration, for editors.",
            light=True,
        ),
    },
}
COMMANDS = {name: command for group in GROUPS.values() for name, command in group.items()}


def help_text() -> str:
    """What `streambed --help` prints."""
    return "\n".join([USAGE, "", ABOUT, *_help_lines()])


def _help_lines() -> Iterator[str]:
    for title, group in GROUPS.items():
        yield from ("", f"{title}:")
        for name, command in group.items():
            yield f"  {name:<10} {command.says}"
    yield from ("", "Options:")
    for option, says in OPTIONS.items():
        yield f"  {option:<22} {says}"
