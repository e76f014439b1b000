"""Jam: a link holds all packets, and delivers the same packets when it heals."""

from __future__ import annotations

from contextlib import ExitStack
from typing import ClassVar, Literal

from streambed.kinds.declaring import declared
from streambed.kinds.faults.of_links import LinkTarget
from streambed.kinds.faults.on_a_link import OnALink
from streambed.plan import Machine
from streambed.world import Injected, World


@declared
class Jam(OnALink):
    """Hold what enters a link for `lasts`, then deliver it: old requests arrive late.

    After a cut, TCP sends again; after a jam, the first packets arrive as well.
    """

    state: ClassVar[str] = "jammed"

    kind: Literal["jam"] = "jam"
    link: LinkTarget
    """The two ends of the link, or its name. Two ends mean every link between them."""
    source: str = ""
    """Hold only packets that leave this end; default: both directions."""

    def lacks(self, machine: Machine) -> str:
        """Only the delay line can hold packets for an unknown time."""
        if machine.means == "delay_line":
            return ""
        return (
            "a jam needs the delay line, which holds packets until it heals; this machine delays "
            "packets by netem, which drops or delays them but cannot hold them: use cut or degrade"
        )

    def inject(self, world: World) -> Injected:
        """Hold packets that leave `source`, or either end."""
        wires = world.wires_named(self.link)
        with ExitStack() as healing:  # If one jam fails, the earlier ones are healed.
            for wire in wires:
                sources = (self.source,) if self.source else wire.ends
                healing.callback(wire.jam(sources))
            return Injected(
                target=self.aim,
                heal=healing.pop_all().close,
                links=tuple(wire.ends for wire in wires),
            )
