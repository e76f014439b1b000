"""Slow CPU: a process gets less CPU time than it could use."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import ExitStack
from typing import ClassVar, Literal

from pydantic import model_validator

from streambed.kinds.declared_components import Components
from streambed.kinds.declaring import declared
from streambed.kinds.faults.targets import OnAProcess, component_of, resolve_processes
from streambed.units import Share
from streambed.world import Injected, World


@declared
class SlowCpu(OnAProcess):
    """Let `target` have at most `share` of the machine's CPU time for `lasts`.

    By its control group where the machine has them, else by stopping it for a part of every 10 ms;
    the event says which.
    """

    state: ClassVar[str] = "slowed down"

    kind: Literal["slow_cpu"] = "slow_cpu"
    target: str
    """As for kill."""
    share: Share
    """Of all cores; above 0 and below 100%."""

    @model_validator(mode="after")
    def _possible(self) -> SlowCpu:
        if not 0 < self.share.value < 1:
            raise ValueError(f"share must be above 0 and below 100%, not {self.share}")
        return self

    @property
    def aim(self) -> str:
        """The target and its share."""
        return f"{self.target} to {self.share}"

    def slowed_components(self, components: Components) -> Collection[str]:
        """The target's component: its processes get control groups."""
        return (component_of(self.target, components),)

    def inject(self, world: World) -> Injected:
        """Slow down the processes that the target means now."""
        processes, label = resolve_processes(self.target, world)
        means: dict[str, None] = {}
        with ExitStack() as healing:
            for process in processes:
                heal, how = process.slow(self.share.value)
                healing.callback(heal)
                means[how] = None
            return Injected(
                target=f"{label} to {self.share}",
                heal=healing.pop_all().close,
                processes=tuple(process.name for process in processes),
                how=", ".join(means),
            )
