"""Cut: a link carries nothing, one way or both, until it is mended."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import Field

from streambed.errors import Problem
from streambed.kinds.declaring import declared
from streambed.kinds.faults.fault import NeedsNothing
from streambed.kinds.faults.of_links import Ends, link_problems, shown
from streambed.units import Duration
from streambed.world import Injury, World


@declared
class Cut(NeedsNothing):
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
        """The link or the way."""
        return shown(self.link, self.source)

    def problems(self, hosts: Sequence[str], links: Sequence[Ends], components: dict[str, Any]) -> list[Problem]:
        """The link must exist, and `source` be one of its ends."""
        return link_problems(self.link, self.source, links, "link")

    def emulated(self, links: Sequence[Ends], components: dict[str, Any]) -> Sequence[Ends]:
        """Its link."""
        return (self.link,)

    def inject(self, world: World) -> Injury:
        """Drop what leaves the named end, or either end."""
        wire = world.wire(self.link)
        sources = (self.source,) if self.source else self.link
        wire.cut(sources)
        return Injury(target=self.aim, heal=lambda: wire.mend(sources))
