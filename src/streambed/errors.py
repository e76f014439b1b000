"""What can go wrong, and whose fault it is.

StreambedError
├── UsageError               you asked for something that cannot be (exit 64)
│   ├── DeclarationError     a file or an Experiment says something wrong; lists every Problem
│   └── QueryError           a store refused what it was asked
└── WorldError               the world failed you: the run could not be made (exit 3)
    ├── MissingError         something that set-up provides is not there; names the command
    ├── MachineError         this machine cannot emulate what was declared
    ├── ProcessError         a process died or never became ready; carries its last lines
    ├── FormatError          a file of a run does not hold what it should
    └── StoreError           a store does not answer
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass

NAMES_SHOWN = 8
"""A message lists so many names at most."""
MISSING_KEY = "missing_key"
UNKNOWN_KEY = "unknown_key"
UNKNOWN_KIND = "unknown_kind"
UNKNOWN_TOPIC = "unknown_topic"
"""Codes of problems."""


class StreambedError(Exception):
    """Base of all errors that streambed raises on purpose."""

    exit_status = 3


class UsageError(StreambedError):
    """The caller asked for something that cannot be."""

    exit_status = 64


class WorldError(StreambedError):
    """The machine, a program or a file failed; the declaration may well be right."""


class MissingError(WorldError):
    """Something that set-up provides is missing; the message names the command that gets it."""

    def __init__(self, what: str, *, command: str = "") -> None:
        self.what = what
        """What is missing, without the command."""
        self.command = command
        """The command that gets it; empty if `what` says what to do."""
        super().__init__(f"{what}. Run: {command}" if command else what)


class MachineError(WorldError):
    """This machine cannot emulate what was declared."""


class ProcessError(WorldError):
    """A process died, or did not become ready in time."""


class FormatError(WorldError):
    """A file of a run does not hold what it should."""


class QueryError(UsageError):
    """A store answered, and refused what it was asked."""


class StoreError(WorldError):
    """A store does not answer; it may a moment later."""


@dataclass(frozen=True, kw_only=True)
class Problem:
    """One thing wrong in a declaration: where, what was found, what to do."""

    key: str
    says: str
    about: frozenset[str] = frozenset()
    """The components that it is about, beside the one that its key is in: those that were looked
    for.
    """
    code: str = ""
    """What it is, for programs: "missing_key", "unknown_key", "unknown_name", … Empty if no program
    asks.
    """
    line: int = 0
    column: int = 0
    option: str = ""
    """The option of the command line that said it, in place of a line of the file."""
    file: str = ""
    """The file that says it, if it is another than the declaration: one that the declaration names.
    """

    def text(self, file: str) -> str:
        """One line in the form that editors and compilers use."""
        file = self.file or file
        place = self.option or (f"{file}:{self.line}:{self.column}" if self.line else file)
        key = f" {self.key}:" if self.key else ""
        return f"{place}:{key} {self.says}"


class DeclarationError(UsageError):
    """A declaration is wrong; all its problems at once, in the order of the file."""

    def __init__(self, problems: Iterable[Problem], file: str = "experiment") -> None:
        self.problems = sorted(
            problems, key=lambda problem: (problem.file, problem.line, problem.column)
        )
        self.file = file
        super().__init__("\n".join(problem.text(file) for problem in self.problems))


def nearest(word: str, known: Iterable[str]) -> str:
    """The known name that a misspelt one probably means; empty if none is near."""
    close = difflib.get_close_matches(word, sorted(known), n=1, cutoff=0.6)
    return close[0] if close else ""


def suggestion(word: str, known: Iterable[str]) -> str:
    """A sentence that helps with a misspelt name: the nearest known one, or all of them."""
    names = sorted(known)
    if near := nearest(word, names):
        return f"Did you mean '{near}'?"
    shown = names[:NAMES_SHOWN] + (
        [f"and {len(names) - NAMES_SHOWN} more"] if len(names) > NAMES_SHOWN else []
    )
    return f"There is {', '.join(shown)}." if names else "There is none."
