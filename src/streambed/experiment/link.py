"""A link: what it does to packets, each way, and at which ports it ends."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import StringConstraints

from streambed.errors import Problem
from streambed.kinds.declaring import declared
from streambed.units import Bandwidth, Duration, Share

PORT_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,14}")
"""What the kernel accepts as the name of an interface, and people can read."""
RESERVED_PORTS = ("all", "default", "lo")
PORT_RULE = "begin with a letter, go on with letters, digits, '-', '_' or '.', 15 characters at most, and not all, default or lo"
NodeName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9-]{0,62}$")]
"""A host name that every program accepts: Java refuses underscores."""

LinkName = Annotated[str, StringConstraints(pattern=r"^([A-Za-z][A-Za-z0-9-]{0,62})?$")]


@declared
class Way:
    """What differs on the way back of a link; what is not given is as on the way there."""

    delay: Duration | None = None
    jitter: Duration | None = None
    loss: Share | None = None
    rate: Bandwidth | None = None


@declared
class Link:
    """A link between two nodes."""

    ends: tuple[NodeName, NodeName]
    """The two nodes."""
    delay: Duration = Duration(0)
    """How long a packet is on its way, each way."""
    jitter: Duration = Duration(0)
    """A packet takes up to so much more or less than `delay`, so that one may overtake another."""
    loss: Share = Share(0)
    """How many packets never arrive."""
    rate: Bandwidth | None = None
    """What it carries; default: as much as the machine can."""
    back: Way | None = None
    """What differs from the second end to the first."""
    name: LinkName = ""
    """What faults call it, where two nodes have several links."""
    ports: tuple[str, str] | None = None
    """Names of the interfaces at the two ends; default: eth0, eth1 and so on at each node."""

    def way(self, source: str) -> Way:
        """The properties for packets that leave `source`."""
        back = self.back if self.back and source == self.ends[1] else Way()
        return Way(
            delay=self.delay if back.delay is None else back.delay,
            jitter=self.jitter if back.jitter is None else back.jitter,
            loss=self.loss if back.loss is None else back.loss,
            rate=self.rate if back.rate is None else back.rate,
        )

    def problems(self) -> list[Problem]:
        """What cannot be; keys relative to the link."""
        found = [Problem(key="ends", says=f"'{self.ends[0]}' is linked to itself")] if self.ends[0] == self.ends[1] else []
        found += _impossible(self.way(self.ends[0]), "", ("jitter", "loss", "rate"))
        if self.back:
            given = [name for name in ("delay", "jitter", "loss", "rate") if getattr(self.back, name) is not None]
            found += _impossible(self.way(self.ends[1]), "back.", given)
        wrong = [(end, name) for end, name in enumerate(self.ports or ()) if not PORT_NAME.fullmatch(name) or name in RESERVED_PORTS]
        return found + [
            Problem(key=f"ports.{end}", says=f"'{name}' cannot be the name of an interface: {PORT_RULE}") for end, name in wrong
        ]


def _impossible(way: Way, prefix: str, keys: list[str] | tuple[str, ...]) -> list[Problem]:
    delay, jitter, loss, rate = way.delay or Duration(0), way.jitter or Duration(0), way.loss or Share(0), way.rate
    wrong = {
        "loss": f"{loss} is more than 100 %" if loss.fraction > 1 else "",
        "rate": "a link that carries nothing is no link: give a rate above 0, or cut it with a fault" if rate and not rate.bps else "",
    }
    if jitter > delay:
        wrong["jitter" if "jitter" in keys else "delay"] = f"a jitter of {jitter} is more than the delay of {delay}"
    return [Problem(key=prefix + key, says=says) for key, says in wrong.items() if says and key in keys]
