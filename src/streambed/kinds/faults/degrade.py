"""Degrade: links are slower, narrower or more lossy than declared, until they are as declared again."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, WithJsonSchema

from streambed.errors import Problem
from streambed.kinds.declaring import declared
from streambed.kinds.faults.fault import NeedsNothing
from streambed.kinds.faults.of_links import SCHEMA, Links, LinkTarget, link_problems, meant, shown
from streambed.plan import LONGEST_NETEM_JITTER_NS, SHORTEST_DELAY_NS, Machine
from streambed.units import Bandwidth, Duration, Share
from streambed.world import Injury, World


def _several(found: Any) -> Any:
    single = isinstance(found, str) or (isinstance(found, (list, tuple)) and found and all(isinstance(end, str) for end in found))
    return (found,) if single else found


LinkTargets = Annotated[
    tuple[LinkTarget, ...],
    BeforeValidator(_several),
    WithJsonSchema({"anyOf": [SCHEMA, {"type": "array", "items": SCHEMA, "minItems": 1}]}),
]
"""One link by its two ends or its name, or a list of such."""


@declared
class Degrade(NeedsNothing):
    """Give links other values at `at`, and the declared ones again after `lasts`. What is not given stays as it was."""

    kind: Literal["degrade"] = "degrade"
    at: Duration
    """Counted from the start of the load."""
    lasts: Duration
    link: LinkTargets
    """The two ends of the link, or its name, or a list of links."""
    source: str = ""
    """Only packets that leave this end; empty for both ways."""
    delay: Duration | None = None
    """Instead of the declared delay and jitter."""
    jitter: Duration | None = None
    """Of the `delay` given here; without it, none."""
    loss: Share | None = None
    """Instead of the declared one."""
    rate: Bandwidth | None = None
    """Instead of the declared one."""

    @property
    def aim(self) -> str:
        """The links or ways, and what becomes of them."""
        given = {"delay": self.delay, "jitter": self.jitter, "loss": self.loss, "rate": self.rate}
        values = ", ".join(f"{name} {value}" for name, value in given.items() if value is not None)
        return f"{', '.join(shown(link, self.source) for link in self.link)}: {values}"

    @property
    def changes(self) -> dict[str, float]:
        """The fields of a shape that it changes."""
        found: dict[str, float] = {}
        if self.delay is not None:
            found |= {"delay_ns": self.delay.ns, "jitter_ns": self.jitter.ns if self.jitter else 0}
        if self.loss is not None:
            found["loss"] = self.loss.fraction
        if self.rate is not None:
            found["rate_bps"] = self.rate.bps
        return found

    def problems(self, hosts: Sequence[str], links: Links, components: dict[str, Any]) -> list[Problem]:
        """Links must exist, something must change, and values be possible."""
        found = [problem for link in self.link for problem in link_problems(link, self.source, links, "link")]
        wrong = {
            "link": "" if self.link else "there is none: give the two ends of a link",
            "delay": "" if self.changes or self.jitter else "nothing changes: give a delay, a loss or a rate",
            "loss": f"{self.loss} is more than 100 %" if self.loss and self.loss.fraction > 1 else "",
            "rate": "a link that carries nothing is cut: give a rate above 0, or the fault cut" if self.rate and not self.rate.bps else "",
            "jitter": _wrong_jitter(self.delay, self.jitter),
        }
        return found + [Problem(key=key, says=says) for key, says in wrong.items() if says]

    def emulated(self, links: Links, components: dict[str, Any]) -> Sequence[str]:
        """Its links."""
        return [name for target in self.link for name in meant(target, links)]

    def lacks(self, machine: Machine) -> str:
        """Rates need a token bucket; delays and jitter have limits."""
        if self.rate and not machine.shaping:
            return f"this machine cannot limit rates, but degrade {self.aim} needs it"
        if machine.means == "delay_line" and self.delay and self.delay.ns < SHORTEST_DELAY_NS:
            return f"without netem this machine cannot delay by less than {Duration(SHORTEST_DELAY_NS)}, as degrade {self.aim} asks"
        if machine.means == "netem" and self.jitter and self.jitter.ns > LONGEST_NETEM_JITTER_NS:
            return f"netem can do no more jitter than {Duration(LONGEST_NETEM_JITTER_NS)}, but degrade {self.aim} asks for it"
        return ""

    def inject(self, world: World) -> Injury:
        """Change each link; healing brings back what held before."""
        with ExitStack() as healing:  # If one change fails, those before it are undone.
            for wire in (wire for target in self.link for wire in world.wires_named(target)):
                healing.callback(wire.degrade((self.source,) if self.source else wire.ends, self.changes))
            return Injury(target=self.aim, heal=healing.pop_all().close)


def _wrong_jitter(delay: Duration | None, jitter: Duration | None) -> str:
    if jitter is None:
        return ""
    if delay is None:
        return "jitter needs a delay: give that as well"
    return f"a jitter of {jitter} is more than the delay of {delay}" if jitter > delay else ""
