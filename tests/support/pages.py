"""Commands and files that a page of the documentation shows, so that tests can execute them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from tests.support.running import ROOT


@dataclass(frozen=True)
class Command:
    """One command line of a page and the exit status that its comment promises."""

    line: str
    status: int


def blocks(page: str, comment: str) -> list[tuple[str, str]]:
    """The code blocks that follow a comment of a kind: what the comment names, and the code."""
    text = (ROOT / page).read_text()
    return re.findall(rf"<!-- {comment} ?(\S*) -->\n```\w+\n(.*?)```", text, re.DOTALL)


def commands(page: str) -> list[Command]:
    """The commands of a page, in order."""
    return [command for _, text in blocks(page, "commands") for command in commands_in(text)]


def commands_in(block: str) -> list[Command]:
    """The commands of one block; `exit 1` in a comment is the status to expect."""
    lines = block.replace("\\\n", "").splitlines()
    return [command_of(line) for line in lines if line.startswith("$ ")]


def command_of(line: str) -> Command:
    words, _, comment = line.removeprefix("$ ").partition("  #")
    status = re.search(r"exit (\d+)", comment)
    return Command(line=words.strip(), status=int(status[1]) if status else 0)


def write_files(page: str, folder: Path) -> None:
    """Write the files that a page shows in full."""
    for name, text in blocks(page, "file:"):
        (folder / name).write_text(text)
