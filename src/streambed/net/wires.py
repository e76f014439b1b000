"""A wire: a link in the kernel that can be cut in either direction, mended or degraded."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from streambed.errors import WorldError
from streambed.net.shaping import Direction
from streambed.plan import PlannedLink, Shape
from streambed.world import Heal

Apply = Callable[[Direction, Shape, Shape], None]
"""Make a direction that does the first do the second from now on."""


class Wire:
    """One link between two hosts or switches."""

    def __init__(self, ways: tuple[Direction, Direction], apply: Apply) -> None:
        self._ways = {way.sender.node: way for way in ways}
        self._apply = apply
        self._changing = threading.RLock()  # Faults come in threads.
        self._now = {way.sender.node: way.shape for way in ways}
        self._cuts: Counter[str] = Counter()
        self._changes: dict[str, list[dict[str, Any]]] = {way.sender.node: [] for way in ways}

    @property
    def link(self) -> PlannedLink:
        """What it was made from."""
        return next(iter(self._ways.values())).link

    @property
    def ends(self) -> tuple[str, str]:
        """The two nodes."""
        first, second = self.link.ports
        return first.node, second.node

    @property
    def is_cut(self) -> bool:
        """Whether it carries nothing either way."""
        return all(self._cuts[node] for node in self._ways)

    def cut(self, sources: tuple[str, ...]) -> None:
        """Drop every packet that leaves one of these two ends. Packets on their way arrive."""
        with self._changing:
            for way in self._from(sources):
                self._cuts[way.sender.node] += 1
                self._update(way)

    def mend(self, sources: tuple[str, ...]) -> None:
        """Carry packets from these ends again; what was cut twice must be mended twice."""
        with self._changing:
            for way in self._from(sources):
                self._cuts[way.sender.node] = max(0, self._cuts[way.sender.node] - 1)
                self._update(way)

    def jam(self, sources: tuple[str, ...]) -> Heal:
        """Hold every packet that leaves one of these ends; healing delivers them in their order."""
        if any(way.means != "delay_line" for way in self._from(sources)):
            raise WorldError(f"link {self.link.name} cannot be jammed: only the delay line can")
        return self.degrade(sources, {"held": True})

    def degrade(self, sources: tuple[str, ...], changes: dict[str, Any]) -> Heal:
        """Give packets from these ends another shape in some fields; of several such changes the
        newest counts.
        """
        ways = self._from(sources)
        with self._changing:
            for way in ways:
                self._changes[way.sender.node].append(changes)
                self._update(way)

        def heal() -> None:
            with self._changing:
                for way in ways:
                    of_way = self._changes[way.sender.node]
                    of_way[:] = [
                        other for other in of_way if other is not changes
                    ]  # An equal one may be another fault's.
                    self._update(way)

        return heal

    def _update(self, way: Direction) -> None:
        """A cut is 100 % loss; the other changes take effect again when it is healed."""
        node = way.sender.node
        shape = way.shape
        for changes in self._changes[node]:
            shape = replace(shape, **changes)
        if self._cuts[node]:
            shape = replace(
                shape, loss=1.0, loss_enter=0.0, duplicate=0.0
            )  # A copy would get through where only one of two is lost.
        if shape != self._now[node]:
            self._apply(way, self._now[node], shape)
            self._now[node] = shape

    def _from(self, sources: Iterable[str]) -> list[Direction]:
        if strangers := [source for source in sources if source not in self._ways]:
            raise WorldError(
                f"link {self.link.name} has the ends {' and '.join(self._ways)}, not "
                f"{', '.join(strangers)}"
            )
        if not self.link.emulated:
            raise WorldError(
                f"link {self.link.name} cannot be cut or changed: the plan did not make it emulated"
            )
        return [self._ways[source] for source in sources]
