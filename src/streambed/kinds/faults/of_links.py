"""What faults that name links share."""

from __future__ import annotations

from collections.abc import Sequence

from streambed.errors import Problem, suggestion

Ends = tuple[str, str]


def link_problems(link: Ends, source: str, links: Sequence[Ends], key: str) -> list[Problem]:
    """A link must exist, and `source` be one of its ends."""
    names = [f"{first}-{second}" for first, second in links]
    found = []
    if not {"-".join(link), "-".join(link[::-1])} & set(names):
        found.append(Problem(key=key, says=f"there is no link {' – '.join(link)}. {suggestion('-'.join(link), names)}"))
    if source and source not in link:
        found.append(Problem(key="source", says=f"'{source}' is not an end of the link {' – '.join(link)}"))
    return found


def shown(link: Ends, source: str) -> str:
    """A link, or one way through it, for people."""
    first, second = link
    return f"{source} → {second if source == first else first}" if source else f"{first} – {second}"
