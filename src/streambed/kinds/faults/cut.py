"""Cut: a link carries nothing, one way or both, until it is mended."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Literal

from pydantic import Field

from streambed.errors import Problem, suggestion
from streambed.kinds.declaring import declared
from streambed.units import Duration
from streambed.world import Heal, World


@declared
class Cut:
    """Cut the link between two nodes at `at`; mend it after `lasts`."""

    kind: Literal["cut"] = "cut"
    at: Duration
    """Counted from the start of the load."""
    lasts: Duration
    link: Annotated[tuple[str, str], Field(min_length=2, max_length=2)]
    """The two ends of the link."""
    source: str = ""
    """Cut only packets that leave this end; empty cuts both ways."""

    @property
    def aim(self) -> str:
        """What it hits, for people."""
        first, second = self.link
        if not self.source:
            return f"{first} – {second}"
        return f"{self.source} → {second if self.source == first else first}"

    @property
    def links(self) -> tuple[tuple[str, str], ...]:
        """The links that it needs to be able to cut."""
        return (self.link,)

    def problems(self, nodes: Iterable[str], links: Iterable[tuple[str, str]], components: dict[str, Any]) -> list[Problem]:
        """The link must exist, and `source` be one of its ends."""
        names = [f"{first}-{second}" for first, second in links]
        found = []
        if not {"-".join(self.link), "-".join(self.link[::-1])} & set(names):
            found.append(Problem(key="link", says=f"there is no link {' – '.join(self.link)}. {suggestion('-'.join(self.link), names)}"))
        if self.source and self.source not in self.link:
            found.append(Problem(key="source", says=f"'{self.source}' is not an end of the link {' – '.join(self.link)}"))
        return found

    def inject(self, world: World) -> Heal:
        """Drop what leaves the named end, or either end."""
        wire = world.wire(self.link)
        sources = (self.source,) if self.source else self.link
        wire.cut(sources)
        return lambda: wire.mend(sources)
