"""The default of a key, as pages write it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pydantic_core import PydanticUndefined


def default_text(key: str, default: Any, factory: Callable[[], Any] | None) -> str:
    if key in ("kind", "version"):
        return "needed in a file"
    if default is None or (default is PydanticUndefined and factory is None):
        return "needed" if default is PydanticUndefined else "none"
    value = default if factory is None else factory()
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if value == ():
        return "`[]`"
    if value == "":
        return "`''`"
    return f"`{value}`"
