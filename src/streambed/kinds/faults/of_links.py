"""What faults that name links share: a link is named by its two ends, or by its own name where two nodes have several."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, WithJsonSchema

from streambed.errors import Problem, suggestion

Ends = tuple[str, str]
Links = Mapping[str, Ends]
"""The ends of every link, by its name."""


def _in_a_list(found: Any) -> Any:
    return [found] if isinstance(found, str) else found


SCHEMA = {"anyOf": [{"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 2}, {"type": "string"}]}
LinkTarget = Annotated[tuple[str, ...], BeforeValidator(_in_a_list), Field(min_length=1, max_length=2), WithJsonSchema(SCHEMA)]
"""Two ends, which mean all links between them, or one name."""


def meant(target: tuple[str, ...], links: Links) -> list[str]:
    """The names of the links that a fault means."""
    if len(target) == 1:
        return [name for name in links if name == target[0]]
    return [name for name, ends in links.items() if set(ends) == set(target)]


def link_problems(target: tuple[str, ...], source: str, links: Links, key: str) -> list[Problem]:
    """A link must exist, and `source` be one of its ends."""
    found = meant(target, links)
    if not found:
        known = [name for name, ends in links.items() if name != " – ".join(ends)] if len(target) == 1 else []
        return [Problem(key=key, says=f"there is no link {_words(target)}. {_suggested(target, known, links)}")]
    if source and source not in links[found[0]]:
        return [Problem(key="source", says=f"'{source}' is not an end of the link {_words(target)}")]
    return []


def _suggested(target: tuple[str, ...], named: list[str], links: Links) -> str:
    if named or len(target) == 1:
        return suggestion(target[0], named) if named else "No link has a name: give its two ends"
    return suggestion("-".join(target), ["-".join(ends) for ends in links.values()])


def _words(target: tuple[str, ...]) -> str:
    return " – ".join(target)


def shown(target: tuple[str, ...], source: str) -> str:
    """A link, or one way through it, for people."""
    if not source:
        return _words(target)
    if len(target) == 1:
        return f"{source} → by {target[0]}"
    first, second = target
    return f"{source} → {second if source == first else first}"
