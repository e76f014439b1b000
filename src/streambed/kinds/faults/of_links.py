"""What faults that name links share: a link is named by its two ends, or by its own name where two
nodes have several.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Protocol

from pydantic import BeforeValidator, Field, WithJsonSchema

from streambed.errors import Problem, suggestion

Ends = tuple[str, str]


@dataclass(frozen=True, kw_only=True)
class LinkEnds:
    """Where a link ends, and whether the user gave it a name: otherwise it goes by its ends."""

    ends: Ends
    named: bool = False


Links = Mapping[str, LinkEnds]
"""The ends of every link, by its name."""


def _in_a_list(found: Any) -> Any:
    return [found] if isinstance(found, str) else found


SCHEMA = {
    "anyOf": [
        {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 2},
        {"type": "string"},
    ]
}
LinkTarget = Annotated[
    tuple[str, ...],
    BeforeValidator(_in_a_list),
    Field(min_length=1, max_length=2),
    WithJsonSchema(SCHEMA),
]
"""Two ends, which mean all links between them, or one name."""


class HasEnds(Protocol):
    """Anything that joins two nodes."""

    @property
    def ends(self) -> Ends:
        """The two nodes."""


def meant(target: tuple[str, ...], links: Mapping[str, HasEnds]) -> list[str]:
    """The names of the links that a fault means."""
    if len(target) == 1:
        return [name for name in links if name == target[0]]
    return [name for name, link in links.items() if set(link.ends) == set(target)]


def link_problems(target: tuple[str, ...], source: str, links: Links, key: str) -> list[Problem]:
    """A link must exist, and `source` be one of its ends."""
    found = meant(target, links)
    if not found:
        return [
            Problem(key=key, says=f"there is no link {_words(target)}. {_suggested(target, links)}")
        ]
    if source and source not in links[found[0]].ends:
        return [
            Problem(key="source", says=f"'{source}' is not an end of the link {_words(target)}")
        ]
    return []


def _suggested(target: tuple[str, ...], links: Links) -> str:
    if len(target) == 2:
        return suggestion("-".join(target), ["-".join(link.ends) for link in links.values()])
    named = [name for name, link in links.items() if link.named]
    return suggestion(target[0], named) if named else "No link has a name: give its two ends"


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
