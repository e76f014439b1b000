"""Links as faults name them: by their two ends, or by name where two nodes share several links."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Protocol

from pydantic import BeforeValidator, Field, WithJsonSchema

from streambed.errors import Problem, listing, nearest, suggestion

Ends = tuple[str, str]


@dataclass(frozen=True, kw_only=True)
class LinkEnds:
    """The ends of a link, and whether the user gave it a name."""

    ends: Ends
    named: bool = False


Links = Mapping[str, LinkEnds]
"""The ends of every link, by its name."""


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


SCHEMA = {
    "anyOf": [
        {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 2},
        {"type": "string"},
    ]
}
LinkTarget = Annotated[
    tuple[str, ...],
    BeforeValidator(_as_list),
    Field(min_length=1, max_length=2),
    WithJsonSchema(SCHEMA),
]
"""Two ends, which mean every link between them, or one name."""


class HasEnds(Protocol):
    """Anything that connects two nodes."""

    @property
    def ends(self) -> Ends:
        """The two nodes."""


def links_named(target: tuple[str, ...], links: Mapping[str, HasEnds]) -> list[str]:
    """The names of the links that a target means: one by name, or all between two ends."""
    if len(target) == 1:
        return [name for name in links if name == target[0]]
    return [name for name, link in links.items() if set(link.ends) == set(target)]


def link_problems(target: tuple[str, ...], source: str, links: Links, key: str) -> list[Problem]:
    """A link must exist, and `source` must be one of its ends."""
    names = links_named(target, links)
    if not names:
        says = f"there is no link {_target_text(target)}. {_suggestion(target, links)}"
        return [Problem(key=key, says=says)]
    if source and source not in links[names[0]].ends:
        says = f"'{source}' is not an end of the link {_target_text(target)}"
        return [Problem(key="source", says=says)]
    return []


def _suggestion(target: tuple[str, ...], links: Links) -> str:
    if len(target) == 2:
        known = {"-".join(link.ends): f"[{', '.join(link.ends)}]" for link in links.values()}
        near = nearest("-".join(target), known)
        if near:
            return f"Did you mean {known[near]}?"
        return listing(known.values())
    named = [name for name, link in links.items() if link.named]
    return suggestion(target[0], named) if named else "No link has a name: give its two ends"


def _target_text(target: tuple[str, ...]) -> str:
    return " – ".join(target)


def link_label(target: tuple[str, ...], source: str) -> str:
    """A link, or one direction of it, as shown to people."""
    if not source:
        return _target_text(target)
    if len(target) == 1:
        return f"{source} → by {target[0]}"
    first, second = target
    other = second if source == first else first
    return f"{source} → {other}"


def directions_of(names: Iterable[str], source: str, links: Links) -> list[str]:
    """Each direction of these links, or the one from `source`, as shown to people."""
    found = []
    for name in names:
        one, other = links[name].ends
        parallel = [link for link in links.values() if set(link.ends) == {one, other}]
        by = f" by {name}" if len(parallel) > 1 else ""
        for end in (source,) if source else links[name].ends:
            found.append(f"{end} → {other if end == one else one}{by}")
    return found
