"""Files that declare something, and places in them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from streambed.errors import DeclarationError, Problem

BYTES_MAX = 64 << 20


@dataclass(frozen=True, kw_only=True)
class Position:
    """Where something was said: a line and a column, of the declaration or of a file that it names;
    or an option of the command line.
    """

    line: int = 0
    column: int = 0
    option: str = ""
    file: str = ""


def text_of(path: Path) -> str:
    """What a file says; DeclarationError if it cannot be read."""
    try:
        return bytes_of(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        byte = f"byte {error.start} is {error.object[error.start]:#04x}"
        says = f"this is not a text file ({byte}): name a YAML file in UTF-8"
        raise DeclarationError([Problem(key="", says=says)], str(path)) from None


def bytes_of(path: Path) -> bytes:
    """What a file holds; DeclarationError if it cannot be read."""
    try:
        with path.open("rb") as file:
            content = file.read(BYTES_MAX + 1)
        if len(content) <= BYTES_MAX:
            return content
        says = f"it has more than {BYTES_MAX >> 20} MiB, too much for a declaration"
    except FileNotFoundError:
        says = "there is no such file"
    except IsADirectoryError:
        says = "this is a directory: name the file in it"
    except OSError as error:
        says = f"it cannot be read: {error.strerror}"
    raise DeclarationError([Problem(key="", says=says)], str(path))
