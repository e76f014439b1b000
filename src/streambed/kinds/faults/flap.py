"""Flap: a link goes down and up again and again."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Literal

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
from streambed.units import Duration
from streambed.world import Injected, Wire, World

SHORTEST = Duration(10e6)


@declared
class Flap(Lasting):
    """Cut a link for `down`, carry packets for `up`, and so on for `lasts`."""

    kind: Literal["flap"] = "flap"
    link: LinkTarget
    """The two ends of the link, or its name. Two ends mean every link between them."""
    down: Duration = Duration(200e6)
    """How long it carries nothing each time."""
    up: Duration = Duration(300e6)
    """How long it carries packets in between."""

    @property
    def aim(self) -> str:
        """The link, and its rhythm."""
        return f"{link_label(self.link, '')}, down {self.down}, up {self.up}"

    def problems(self, hosts: Sequence[str], links: Links, components: Components) -> list[Problem]:
        """The link must exist, and the fault must last for at least one round."""
        problems = link_problems(self.link, "", links, "link")
        for key, time in (("down", self.down), ("up", self.up)):
            if time < SHORTEST:
                problems.append(Problem(key=key, says=f"{time} is too short: give {SHORTEST}"))
        if self.lasts.ns < self.down.ns + self.up.ns:
            says = f"{self.lasts} is shorter than one time down and up: give more, or use cut"
            problems.append(Problem(key="lasts", says=says))
        return problems

    def emulated(self, links: Links, components: Components) -> Sequence[str]:
        """The named link, or every link between the two ends."""
        return links_named(self.link, links)

    def holds(self, links: Links, components: Components) -> Sequence[Held]:
        """Each direction of the link."""
        directions = directions_of(links_named(self.link, links), "", links)
        return [Held(direction, "cut") for direction in directions]

    def inject(self, world: World) -> Injected:
        """Cut it now, and let a thread do the rest until it is healed."""
        wires = world.wires_named(self.link)
        over = threading.Event()
        self._cut_wires(wires, world)
        thread = threading.Thread(target=self._flap, args=(wires, world, over), daemon=True)
        thread.start()

        def heal() -> None:
            over.set()
            thread.join()

        return Injected(target=self.aim, heal=heal, links=tuple(wire.ends for wire in wires))

    def _cut_wires(self, wires: Sequence[Wire], world: World) -> None:
        for wire in wires:
            wire.cut(wire.ends)
        world.links_changed()

    def _flap(self, wires: Sequence[Wire], world: World, over: threading.Event) -> None:
        """Begins with the link down, and leaves it up."""
        while True:
            over.wait(self.down.ns / 1e9)
            for wire in wires:
                wire.mend(wire.ends)
            world.links_changed()
            if over.wait(self.up.ns / 1e9):
                return
            self._cut_wires(wires, world)
