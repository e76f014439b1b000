"""Cut: a link carries nothing, one way or both, until it is mended."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any, Literal

from streambed.errors import Problem
from streambed.kinds.declaring import declared
from streambed.kinds.faults.fault import NeedsNothing
from streambed.kinds.faults.of_links import Links, LinkTarget, link_problems, meant, shown
from streambed.units import Duration
from streambed.world import Injury, World


@declared
class Cut(NeedsNothing):
    """Cut the link between two nodes at `at`; mend it after `lasts`."""

    kind: Literal["cut"] = "cut"
    at: Duration
    """Counted from the start of the load."""
    lasts: Duration
    link: LinkTarget
    """The two ends of the link, or its name; two ends mean all links between them."""
    source: str = ""
    """Cut only packets that leave this end; empty cuts both ways."""

    @property
    def aim(self) -> str:
        """The link or the way."""
        return shown(self.link, self.source)

    def problems(
        self, hosts: Sequence[str], links: Links, components: dict[str, Any]
    ) -> list[Problem]:
        """The link must exist, and `source` be one of its ends."""
        return link_problems(self.link, self.source, links, "link")

    def emulated(self, links: Links, components: dict[str, Any]) -> Sequence[str]:
        """Its link, or all links between its two ends."""
        return meant(self.link, links)

    def inject(self, world: World) -> Injury:
        """Drop what leaves the named end, or either end."""
        with ExitStack() as healing:  # If one cut fails, those before it are mended.
            for wire in world.wires_named(self.link):
                sources = (self.source,) if self.source else wire.ends
                wire.cut(sources)
                healing.callback(wire.mend, sources)
            return Injury(target=self.aim, heal=healing.pop_all().close)
