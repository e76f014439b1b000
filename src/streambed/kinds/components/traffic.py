"""Traffic: background load between hosts, as packets at a rate or as greedy TCP flows."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from streambed.errors import Problem
from streambed.kinds.components.component import ComponentBase, Needs, gauge_is_ready
from streambed.kinds.components.limits import Limits
from streambed.kinds.components.plan_context import PlanContext
from streambed.kinds.declared_components import Components
from streambed.kinds.declaring import Name, Names, declared
from streambed.plan import OnExit, ProcessSpec
from streambed.record.orders import TrafficOrder
from streambed.units import Bandwidth, Duration, Size
from streambed.world import Missing, World

FIRST_PORT = 20_000
"""Components get ports from here on, below those that the kernel gives to clients."""
PACKET_BYTES = (64, 1500)
"""The smallest and the largest packet. Larger ones would be fragmented."""
PACKETS_PER_S_MAX = 50_000
"""The most that the process on one host can send."""


@declared
class Traffic(ComponentBase):
    """Sends from each of `sources` to each of `to`; only TCP sends lost packets again."""

    needs: ClassVar[Needs] = ()

    kind: Literal["traffic"] = "traffic"
    name: Name
    sources: Annotated[Names, Field(min_length=1)]
    """The host or hosts that send."""
    to: Annotated[Names, Field(min_length=1)]
    """The host or hosts that receive. No host sends to itself."""
    pattern: Literal["constant", "poisson", "on_off", "tcp"] = "constant"
    """Packets at equal or random intervals, or in bursts; or TCP flows as fast as they can."""
    rate: Bandwidth | None = None
    """What each source sends to each target, headers included; needed unless the pattern is tcp."""
    size: Size = Size(1000)
    """The size of each packet, headers included."""
    bursts: Duration = Duration(1e9)
    """on_off: how long it sends at `rate`."""
    pauses: Duration = Duration(1e9)
    """on_off: how long it pauses after that."""
    flows: Annotated[int, Field(ge=1, le=1000)] = 1
    """The number of connections, or of ports that packets are spread over, between each pair."""
    after: Duration = Duration(0)
    """How long after the start of the load it begins."""
    lasts: Duration | None = None
    """Default: to the end of the load."""
    limits: Limits | None = None
    """What each of its processes may use of the machine."""
    on_exit: OnExit = "auto"

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
        """Every pair of a source and a target."""
        pairs = product(self.sources, self.to)
        return [(source, target) for source, target in pairs if source != target]

    @property
    def places(self) -> dict[str, str]:
        """The key that names each host."""
        listed = {"sources": self.sources, "to": self.to}
        return {
            f"{key}.{number}": node
            for key, nodes in listed.items()
            for number, node in enumerate(nodes)
        }

    def problems(self, others: Components, base: Path) -> list[Problem]:
        """There must be a pair of hosts, and a host must not send more than its process can."""
        problems = self._named_twice()
        if not self.pairs:
            says = "it would send to itself alone: name another host"
            problems.append(Problem(key="to", says=says))
        targets = max((len(set(self.to) - {source}) for source in self.sources), default=0)
        packets_per_s = targets * self.rate.bps / 8 / self.size.bytes if self.rate else 0
        if packets_per_s > PACKETS_PER_S_MAX:
            says = (
                f"a host would send {packets_per_s:.0f} packets/s, "
                f"but {PACKETS_PER_S_MAX} are the most: give a larger size, or tcp"
            )
            problems.append(Problem(key="rate", says=says))
        return problems

    def _named_twice(self) -> list[Problem]:
        problems = []
        for key, nodes in {"sources": self.sources, "to": self.to}.items():
            for index, node in enumerate(nodes):
                if node in nodes[:index]:
                    says = f"'{node}' is named twice"
                    problems.append(Problem(key=f"{key}.{index}", says=says))
        return problems

    def processes(self, context: PlanContext) -> list[ProcessSpec]:
        """One agent on each host: it sends, receives, or both."""
        return [self._agent(context, node) for node in dict.fromkeys(self.places.values())]

    def _agent(self, context: PlanContext, node: str) -> ProcessSpec:
        targets = [target for source, target in self.pairs if source == node]
        order = TrafficOrder(
            port=FIRST_PORT + context.numbers[self.name],
            to=tuple(context.addresses[target] for target in targets),
            pattern=self.pattern,
            step_ns=self._step_ns(),
            size=self.size.bytes,
            bursts_ns=self.bursts.ns,
            pauses_ns=self.pauses.ns,
            flows=self.flows,
            after_ns=self.after.ns,
            lasts_ns=self._lasts_ns(context.duration_ns),
        )
        file = context.order(f"{self.name}/{node}", order)
        return ProcessSpec(
            name=f"{self.name}/{node}",
            component=self.name,
            node=node,
            argv=(context.machine.python, "-m", "streambed.agents.traffic", file.path),
            env=context.variables(self.name, node, ""),
            files=(file,),
            on_exit=self.on_exit,
        )

    def _step_ns(self) -> float:
        """The mean time between two packets of one flow; 0 without a rate."""
        if not self.rate:
            return 0.0
        return self.size.bytes * 8e9 * self.flows / self.rate.bps

    def _lasts_ns(self, load_ns: int) -> int:
        """How long it sends: as declared, but no longer than the load."""
        left_ns = max(0, load_ns - self.after.ns)
        return min(left_ns, self.lasts.ns) if self.lasts else left_ns

    def readiness(self, world: World) -> Missing:
        """Ready when the agents on all hosts listen."""
        nodes = list(dict.fromkeys(self.places.values()))

        def missing() -> str:
            waiting = [node for node in nodes if not gauge_is_ready(world, f"{self.name}/{node}")]
            return f"its agents on {', '.join(waiting)} do not listen yet" if waiting else ""

        return missing
