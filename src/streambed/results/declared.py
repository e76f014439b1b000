"""What two declarations say differently, key by key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from streambed.record.secrets import masked_value

ABSENT = "not given"
BRIEF = 60
"""Most characters of a part that only one declaration has."""
_MISSING = object()

Differing = tuple[str, str, str]
"""A key, and what each declaration says."""


def differences(a: Any, b: Any) -> list[Differing]:
    """What two declarations say differently. A part that only one of them has, such as a component
    or a link, is one entry, and so is a part of another kind. Secrets are masked.
    """
    return [
        (key, masked_value(key, one), masked_value(key, other))
        for key, one, other in _differing("", a, b)
    ]


def _differing(key: str, a: Any, b: Any) -> Iterator[Differing]:
    first, second = _children(a), _children(b)
    if first is None or second is None or _kind(a) != _kind(b):
        one, other = _brief(a), _brief(b)
        if one != other:
            yield key, one, other
        return
    for name in dict.fromkeys([*first, *second]):
        below = f"{key}.{name}" if key else name
        yield from _differing(below, first.get(name, _MISSING), second.get(name, _MISSING))


def _children(part: Any) -> dict[str, Any] | None:
    """The values in a mapping or list, by key; None for any other value."""
    if isinstance(part, Mapping):
        return {str(name): below for name, below in part.items()}
    if isinstance(part, list | tuple):
        return {str(at): below for at, below in enumerate(part)}
    return None


def _kind(part: Any) -> Any:
    return part.get("kind") if isinstance(part, Mapping) else None


def _brief(part: Any) -> str:
    """A part in a few words: its kind, or the values that it has."""
    if part is _MISSING:
        return ABSENT
    if part is None:
        return ""
    children = _children(part)
    if children is None:
        return str(part)
    if not children:
        return "[]" if isinstance(part, list | tuple) else "{}"
    if kind := _kind(part):
        return f"a {kind}"
    named = isinstance(part, Mapping)
    words = [
        f"{name}: {_brief(below)}" if named else _brief(below)
        for name, below in children.items()
        if below not in (None, "", (), [], {}, False)
    ]
    text = ", ".join(words)
    return text if len(text) <= BRIEF else f"{text[: BRIEF - 1]}…"
