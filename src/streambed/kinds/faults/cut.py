"""Cut: a link carries nothing, in one direction or both, until it heals."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any, Literal

from streambed.errors import Problem
from streambed.kinds.declaring import declared
from streambed.kinds.faults.fault import NeedsNothing
from streambed.kinds.faults.of_links import (
    Links,
    LinkTarget,
    link_label,
    link_problems,
    meant,
)
from streambed.units import Duration
from streambed.world import Injury, World


@declared
class Cut(NeedsNothing):
    """Cut a link at `at`; restore it after `lasts`."""

    kind: Literal["cut"] = "cut"
    at: Duration
    """Counted from the start of the load."""
    lasts: Duration
    link: LinkTarget
    """The two ends of the link, or its name. Two ends mean every link between them."""
    source: str = ""
    """Drop only packets that leave this end; default: both directions."""

    @property
    def aim(self) -> str:
        """The link, or the direction of it that is cut."""
        return link_label(self.link, self.source)

    def problems(
        self, hosts: Sequence[str], links: Links, components: dict[str, Any]
    ) -> list[Problem]:
        """The link must exist, and `source` must be one of its ends."""
        return link_problems(self.link, self.source, links, "link")

    def emulated(self, links: Links, components: dict[str, Any]) -> Sequence[str]:
        """The named link, or every link between the two ends."""
        return meant(self.link, links)

    def inject(self, world: World) -> Injury:
        """Drop packets that leave `source`, or either end."""
        with ExitStack() as healing:  # If one cut fails, the earlier ones are healed.
            for wire in world.wires_named(self.link):
                sources = (self.source,) if self.source else wire.ends
                wire.cut(sources)
                healing.callback(wire.mend, sources)
            return Injury(target=self.aim, heal=healing.pop_all().close)
