"""Faults that hold one link, in one direction or both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from streambed.errors import Problem
from streambed.kinds.declared_components import Components
from streambed.kinds.declaring import declared
from streambed.kinds.faults.fault import Held, Lasting
from streambed.kinds.faults.of_links import (
    Links,
    LinkTarget,
    directions_of,
    link_label,
    link_problems,
    links_named,
)


@declared
class OnALink(Lasting):
    """Defaults for faults with one `link`, and perhaps one `source`."""

    state: ClassVar[str]
    """What each direction is while the fault lasts: no other fault may hold it then."""

    link: LinkTarget
    source: str = ""

    @property
    def aim(self) -> str:
        """The link, or the direction of it that is hit."""
        return link_label(self.link, self.source)

    def problems(self, hosts: Sequence[str], links: Links, components: Components) -> list[Problem]:
        """The link must exist, and `source` must be one of its ends."""
        return link_problems(self.link, self.source, links, "link")

    def emulated(self, links: Links, components: Components) -> Sequence[str]:
        """The named link, or every link between the two ends."""
        return links_named(self.link, links)

    def holds(self, links: Links, components: Components) -> Sequence[Held]:
        """Each direction of the link."""
        directions = directions_of(links_named(self.link, links), self.source, links)
        return [Held(direction, self.state) for direction in directions]
