"""Frozen dataclasses as JSON. Every event, gauge and order is encoded and decoded here.

The files are plain JSON, which any program can read.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

import msgspec

from streambed.errors import FormatError
from streambed.record import write_whole

Message = TypeVar("Message")


def encode(message: Any) -> bytes:
    """A dataclass as one line of JSON."""
    return msgspec.json.encode(message)


def fields_of(message: Any) -> dict[str, Any]:
    """A dataclass as a plain dict, with everything in it plain as well."""
    plain: dict[str, Any] = msgspec.to_builtins(message, str_keys=True)
    return plain


def decode(kind: type[Message], text: bytes | str) -> Message:
    """The dataclass that a line of JSON holds; FormatError if it holds something else. Unknown keys
    are ignored.
    """
    try:
        return msgspec.json.decode(text, type=kind)
    except msgspec.MsgspecError as error:
        raise FormatError(f"this is not a {kind.__name__}: {error}") from None


def convert(kind: type[Message], plain: Any) -> Message:
    """The dataclass that plain data holds; FormatError if it holds something else. Unknown keys are
    ignored.
    """
    try:
        return msgspec.convert(plain, kind, str_keys=True)
    except msgspec.ValidationError as error:
        raise FormatError(f"this is not a {kind.__name__}: {error}") from None


def write_message(path: Path, message: Any) -> None:
    """Replace a file by a message, whole or not at all."""
    write_whole(path, encode(message))


def read_message(path: Path, kind: type[Message]) -> Message:
    """The message in a file; FormatError names the file if it holds something else."""
    try:
        return decode(kind, path.read_bytes())
    except FormatError as error:
        raise FormatError(f"{path}: {error}") from None
