"""Files that declare something, and places in them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from streambed.errors import DeclarationError, Problem


@dataclass(frozen=True, kw_only=True)
class Place:
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
        raise DeclarationError(
            [Problem(key="", says=f"this is not UTF-8: byte {error.start} cannot be read")],
            str(path),
        ) from None


def bytes_of(path: Path) -> bytes:
    """What a file holds; DeclarationError if it cannot be read."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        says = "there is no such file"
    except IsADirectoryError:
        says = "this is a directory: name the file in it"
    except OSError as error:
        says = f"it cannot be read: {error.strerror}"
    raise DeclarationError([Problem(key="", says=says)], str(path))
