"""A wire: a link in the kernel that can be cut in either direction, mended or degraded."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from streambed.errors import WorldError
from streambed.net.shaping import EmulatedDirection
from streambed.plan import PlannedLink, Shape
from streambed.world import Heal

Apply = Callable[[EmulatedDirection, Shape, Shape], None]
"""Changes the shape of a direction from the first to the second."""


class Wire:
    """One link between two hosts or switches."""

    def __init__(
        self, directions: tuple[EmulatedDirection, EmulatedDirection], apply: Apply
    ) -> None:
        self._directions = {direction.sender.node: direction for direction in directions}
        self._apply = apply
        self._changing = threading.RLock()  # Faults come in threads.
        self._now = {direction.sender.node: direction.shape for direction in directions}
        self._cuts: Counter[str] = Counter()
        self._changes: dict[str, list[dict[str, Any]]] = {
            direction.sender.node: [] for direction in directions
        }

    @property
    def link(self) -> PlannedLink:
        """What it was made from."""
        return next(iter(self._directions.values())).link

    @property
    def ends(self) -> tuple[str, str]:
        """The two nodes."""
        first, second = self.link.ports
        return first.node, second.node

    @property
    def is_cut(self) -> bool:
        """Whether it carries nothing either way."""
        return all(self._cuts[node] for node in self._directions)

    def cut(self, sources: tuple[str, ...]) -> None:
        """Drop every packet that leaves one of these two ends. Packets on their way arrive."""
        with self._changing:
            for direction in self._from(sources):
                self._cuts[direction.sender.node] += 1
                self._update(direction)

    def mend(self, sources: tuple[str, ...]) -> None:
        """Carry packets from these ends again; what was cut twice must be mended twice."""
        with self._changing:
            for direction in self._from(sources):
                self._cuts[direction.sender.node] = max(0, self._cuts[direction.sender.node] - 1)
                self._update(direction)

    def jam(self, sources: tuple[str, ...]) -> Heal:
        """Hold every packet that leaves one of these ends; healing delivers them in their order."""
        if any(direction.means != "delay_line" for direction in self._from(sources)):
            raise WorldError(f"link {self.link.name} cannot be jammed: only the delay line can")
        return self.degrade(sources, {"held": True})

    def degrade(self, sources: tuple[str, ...], changes: dict[str, Any]) -> Heal:
        """Give packets from these ends another shape in some fields; of several such changes the
        newest counts.
        """
        directions = self._from(sources)
        with self._changing:
            for direction in directions:
                self._changes[direction.sender.node].append(changes)
                self._update(direction)

        def heal() -> None:
            with self._changing:
                for direction in directions:
                    of_direction = self._changes[direction.sender.node]
                    of_direction[:] = [
                        other for other in of_direction if other is not changes
                    ]  # An equal one may be another fault's.
                    self._update(direction)

        return heal

    def _update(self, direction: EmulatedDirection) -> None:
        """A cut is 100 % loss; the other changes take effect again when it is healed."""
        node = direction.sender.node
        shape = direction.shape
        for changes in self._changes[node]:
            shape = replace(shape, **changes)
        if self._cuts[node]:
            shape = replace(
                shape, loss=1.0, loss_enter=0.0, duplicate=0.0
            )  # A copy would get through where only one of two is lost.
        if shape != self._now[node]:
            self._apply(direction, self._now[node], shape)
            self._now[node] = shape

    def _from(self, sources: Iterable[str]) -> list[EmulatedDirection]:
        if strangers := [source for source in sources if source not in self._directions]:
            raise WorldError(
                f"link {self.link.name} has the ends {' and '.join(self._directions)}, not "
                f"{', '.join(strangers)}"
            )
        if not self.link.emulated:
            raise WorldError(
                f"link {self.link.name} cannot be cut or changed: the plan did not make it emulated"
            )
        return [self._directions[source] for source in sources]
