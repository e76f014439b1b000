"""What can go wrong, and whose fault it is.

StreambedError
├── UsageError               you asked for something impossible (exit 64)
│   ├── DeclarationError     a file or an Experiment says something wrong; lists every Problem
│   └── QueryError           a store refused a statement
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
"""How many names a message lists at most."""
MISSING_KEY = "missing_key"
UNKNOWN_FAULT = "unknown_fault"
UNKNOWN_KEY = "unknown_key"
UNKNOWN_KIND = "unknown_kind"
UNKNOWN_TOPIC = "unknown_topic"
"""Codes of problems."""


class StreambedError(Exception):
    """Base of all errors that streambed raises on purpose."""

    exit_status = 3


class UsageError(StreambedError):
    """The caller asked for something impossible."""

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
    """A store refused a statement."""


class StoreError(WorldError):
    """A store does not answer now; trying again may help."""


@dataclass(frozen=True, kw_only=True)
class Problem:
    """One thing wrong in a declaration: where, what was found, what to do."""

    key: str
    says: str
    about: frozenset[str] = frozenset()
    """Components that it mentions, other than the one that its key is in."""
    code: str = ""
    """What kind of problem it is, for programs, such as MISSING_KEY; empty if no program asks."""
    line: int = 0
    column: int = 0
    option: str = ""
    """The command-line option at fault, if it is not a line of the file."""
    file: str = ""
    """The file at fault, if it is one that the declaration names."""

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
    """A sentence that helps with an unknown name: the nearest known one, or all of them."""
    names = sorted(known)
    if near := nearest(word, names):
        return f"Did you mean '{near}'?"
    return listing(names)


def listing(known: Iterable[str]) -> str:
    """A sentence that lists known names, the first few if there are many."""
    names = sorted(known)
    if not names:
        return "None is known."
    shown = names[:NAMES_SHOWN]
    if len(names) > NAMES_SHOWN:
        shown.append(f"and {len(names) - NAMES_SHOWN} more")
    return f"Known: {', '.join(shown)}."
