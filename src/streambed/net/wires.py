"""A wire: a link made real, that can be cut in either direction and mended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from streambed.errors import WorldError
from streambed.net.shaping import Direction
from streambed.plan import PlannedLink

Drop = Callable[[Direction, bool], None]
"""Drop every packet of a direction from now on (True), or carry them again (False)."""


class Wire:
    """One link between two hosts or switches."""

    def __init__(self, ways: tuple[Direction, Direction], drop: Drop) -> None:
        self._ways = {way.sender.node: way for way in ways}
        self._drop = drop
        self._cuts: Counter[str] = Counter()

    @property
    def link(self) -> PlannedLink:
        """What it was made from."""
        return next(iter(self._ways.values())).link

    def cut(self, sources: tuple[str, ...]) -> None:
        """Drop every packet that leaves one of these two ends. Packets on their way arrive."""
        for way in self._from(sources):
            self._cuts[way.sender.node] += 1
            if self._cuts[way.sender.node] == 1:
                self._drop(way, True)

    def mend(self, sources: tuple[str, ...]) -> None:
        """Carry packets from these ends again, shaped as declared; what was cut twice must be mended twice."""
        for way in self._from(sources):
            if self._cuts[way.sender.node] == 1:
                self._drop(way, False)
            self._cuts[way.sender.node] = max(0, self._cuts[way.sender.node] - 1)

    def _from(self, sources: Iterable[str]) -> list[Direction]:
        if strangers := [source for source in sources if source not in self._ways]:
            raise WorldError(f"link {self.link.name} has the ends {' and '.join(self._ways)}, not {', '.join(strangers)}")
        if not self.link.emulated:
            raise WorldError(f"link {self.link.name} cannot be cut: the plan did not make it emulated")
        return [self._ways[source] for source in sources]
