"""Traffic: background load between hosts, as packets at a rate or as TCP flows that take what they
get.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from streambed.errors import Problem
from streambed.kinds.components.component import ComponentBase, Needs, gauge_is_ready
from streambed.kinds.components.limits import Limits
from streambed.kinds.components.site import Site
from streambed.kinds.declaring import Name, Names, declared
from streambed.plan import OnExit, ProcessSpec
from streambed.record.orders import TrafficOrder
from streambed.units import Bandwidth, Duration, Size
from streambed.world import Missing, World

FIRST_PORT = 20_000
"""Each component has a port of its own from here on: below those that the kernel gives to clients.
"""
PACKET_BYTES = (64, 1500)
"""The smallest and the largest packet: what is larger would be taken apart on its way."""
PACKETS_PER_S_MAX = 50_000
"""More than this one host's process cannot send."""


@declared
class Traffic(ComponentBase):
    """Sends from each of `sources` to each of `to`, whatever becomes of it."""

    needs: ClassVar[Needs] = ()

    kind: Literal["traffic"] = "traffic"
    name: Name
    sources: Annotated[Names, Field(min_length=1)]
    """The host or hosts that send."""
    to: Annotated[Names, Field(min_length=1)]
    """The host or hosts that receive; nobody sends to itself."""
    pattern: Literal["constant", "poisson", "on_off", "tcp"] = "constant"
    """Packets at equal steps, at random ones, or at equal steps in bursts; or TCP flows that take
    what they get.
    """
    rate: Bandwidth | None = None
    """What each source sends to each target, headers included; needed unless the pattern is tcp."""
    size: Size = Size(1000)
    """Of each packet, headers included."""
    bursts: Duration = Duration(1e9)
    """on_off: how long it sends at `rate`."""
    pauses: Duration = Duration(1e9)
    """on_off: how long it is silent then."""
    flows: Annotated[int, Field(ge=1, le=1000)] = 1
    """Between each pair, so many connections, or ports over which packets are spread."""
    after: Duration = Duration(0)
    """Begin so long after the start of the load."""
    lasts: Duration | None = None
    """Default: to the end of the load."""
    limits: Limits | None = None
    """What each of its processes may use of the machine."""
    on_exit: OnExit = "fail"

    @model_validator(mode="after")
    def _possible(self) -> Traffic:
        least, most = PACKET_BYTES
        if self.pattern == "tcp" and self.rate is not None:
            raise ValueError(
                "TCP flows take what they get: leave out rate, or choose another pattern"
            )
        if self.pattern != "tcp" and not (self.rate and self.rate.bps):
            raise ValueError(f"the pattern {self.pattern} needs a rate above 0")
        if not least <= self.size.bytes <= most:
            raise ValueError(f"size must be between {least}B and {most}B, headers included")
        if self.pattern == "on_off" and not (self.bursts.ns and self.pauses.ns):
            raise ValueError(
                "bursts and pauses must be above 0s: the pattern constant has no pauses"
            )
        return self

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Who sends to whom."""
        return [
            (source, target) for source in self.sources for target in self.to if source != target
        ]

    @property
    def places(self) -> dict[str, str]:
        """The key that names each host."""
        listed = {"sources": self.sources, "to": self.to}
        return {
            f"{key}.{number}": node
            for key, nodes in listed.items()
            for number, node in enumerate(nodes)
        }

    def problems(self, others: Mapping[str, Any], base: Path) -> list[Problem]:
        """Somebody must send to somebody else, no faster than a program can."""
        found = [
            Problem(key=key, says=f"'{node}' is named twice") for key, node in self._named_twice()
        ]
        if not self.pairs:
            found.append(Problem(key="to", says="it would send to itself alone: name another host"))
        targets = max((len(set(self.to) - {source}) for source in self.sources), default=0)
        packets_per_s = targets * self.rate.bps / 8 / self.size.bytes if self.rate else 0
        if packets_per_s > PACKETS_PER_S_MAX:
            says = f"a host would send {packets_per_s:.0f} packets/s, but {PACKETS_PER_S_MAX} are the most: give a larger size, or tcp"
            found.append(Problem(key="rate", says=says))
        return found

    def _named_twice(self) -> Iterator[tuple[str, str]]:
        for key, nodes in {"sources": self.sources, "to": self.to}.items():
            yield from (
                (f"{key}.{at}", node) for at, node in enumerate(nodes) if node in nodes[:at]
            )

    def processes(self, site: Site) -> list[ProcessSpec]:
        """One agent on each host: it sends, receives, or both."""
        return [self._agent(site, node) for node in dict.fromkeys(self.places.values())]

    def _agent(self, site: Site, node: str) -> ProcessSpec:
        left_ns = max(0, site.duration_ns - self.after.ns)
        order = TrafficOrder(
            port=FIRST_PORT + site.numbers[self.name],
            to=tuple(site.addresses[target] for source, target in self.pairs if source == node),
            pattern=self.pattern,
            step_ns=self.size.bytes * 8e9 * self.flows / self.rate.bps if self.rate else 0,
            size=self.size.bytes,
            bursts_ns=self.bursts.ns,
            pauses_ns=self.pauses.ns,
            flows=self.flows,
            after_ns=self.after.ns,
            lasts_ns=min(left_ns, self.lasts.ns) if self.lasts else left_ns,
        )
        file = site.order(f"{self.name}/{node}", order)
        return ProcessSpec(
            name=f"{self.name}/{node}",
            component=self.name,
            node=node,
            argv=(site.machine.python, "-m", "streambed.agents.traffic", file.path),
            env=site.variables(self.name, node, ""),
            files=(file,),
            on_exit=self.on_exit,
        )

    def readiness(self, world: World) -> Missing:
        """Ready when everybody listens."""
        nodes = list(dict.fromkeys(self.places.values()))

        def missing() -> str:
            deaf = [node for node in nodes if not gauge_is_ready(world, f"{self.name}/{node}")]
            return f"its agents on {', '.join(deaf)} do not listen yet" if deaf else ""

        return missing
