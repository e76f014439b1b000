"""Cut: a link carries nothing, in one direction or both, until it heals."""

from __future__ import annotations

from contextlib import ExitStack
from typing import ClassVar, Literal

from streambed.kinds.declaring import declared
from streambed.kinds.faults.of_links import LinkTarget
from streambed.kinds.faults.on_a_link import OnALink
from streambed.world import Injected, World


@declared
class Cut(OnALink):
    """Cut a link at `at`; restore it after `lasts`."""

    state: ClassVar[str] = "cut"

    kind: Literal["cut"] = "cut"
    link: LinkTarget
    """The two ends of the link, or its name. Two ends mean every link between them."""
    source: str = ""
    """Drop only packets that leave this end; default: both directions."""

    def inject(self, world: World) -> Injected:
        """Drop packets that leave `source`, or either end."""
        with ExitStack() as healing:  # If one cut fails, the earlier ones are healed.
            wires = world.wires_named(self.link)
            for wire in wires:
                sources = (self.source,) if self.source else wire.ends
                wire.cut(sources)
                healing.callback(wire.mend, sources)
            return Injected(
                target=self.aim,
                heal=healing.pop_all().close,
                links=tuple(wire.ends for wire in wires),
            )
