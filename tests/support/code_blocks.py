"""Every code block of every page, so that tests can claim each of them."""

from __future__ import annotations

import re
import shlex
import textwrap
from dataclasses import dataclass
from pathlib import Path

from tests.support.running import ROOT

FENCE = re.compile(r"^ *```(\w*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
MARK = re.compile(r"<!-- ([^>]*) -->\n$")


@dataclass(frozen=True, kw_only=True)
class Block:
    """A code block of a page."""

    page: str
    line: int
    language: str
    text: str
    mark: str
    """The comment right before it, which says how a test uses it; empty if there is none."""

    @property
    def first_line(self) -> str:
        return self.text.strip("\n").partition("\n")[0].strip()

    @property
    def commands(self) -> list[list[str]]:
        """The words of each command line that begins with a prompt."""
        lines = self.text.replace("\\\n", " ").splitlines()
        typed = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
        words = [shlex.split(line, comments=True) for line in typed]
        return [command for line in words for command in _split_at_and(line)]

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def _split_at_and(words: list[str]) -> list[list[str]]:
    """The commands of a line, which `&&` separates."""
    commands: list[list[str]] = [[]]
    for word in words:
        if word == "&&":
            commands.append([])
        else:
            commands[-1].append(word)
    return commands


def pages() -> list[Path]:
    readmes = [path for top in ("examples", "studies") for path in (ROOT / top).rglob("README.md")]
    docs = (ROOT / "docs").rglob("*.md")
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(docs), *sorted(readmes)]


def blocks_of(page: Path) -> list[Block]:
    text = page.read_text()
    found = []
    for match in FENCE.finditer(text):
        before = text[: match.start()]
        mark = MARK.search(before)
        found.append(
            Block(
                page=page.relative_to(ROOT).as_posix(),
                line=before.count("\n") + 1,
                language=match[1],
                text=textwrap.dedent(match[2]),
                mark=mark[1] if mark else "",
            )
        )
    return found


def all_blocks() -> list[Block]:
    return [block for page in pages() for block in blocks_of(page)]


def block(page: str, first_line: str) -> Block:
    """The block of a page that begins with this line."""
    (one,) = [one for one in blocks_of(ROOT / page) if one.first_line == first_line]
    return one
