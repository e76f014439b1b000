"""Stop: a process is asked to end with SIGTERM, and is started again later."""

from __future__ import annotations

from collections.abc import Collection
from typing import ClassVar, Literal

from streambed.kinds.declared_components import Components
from streambed.kinds.declaring import declared
from streambed.kinds.faults.targets import (
    OnAProcess,
    act_on_each,
    component_of,
    resolve_processes,
)
from streambed.world import Injected, World


@declared
class Stop(OnAProcess):
    """Send SIGTERM to `target`; start it again after `lasts`, once it has ended.

    Unlike a kill, it may hand over first: a broker moves its leaders and closes its logs.
    """

    state: ClassVar[str] = "dead"
    hits_executors: ClassVar[bool] = True

    kind: Literal["stop"] = "stop"
    target: str
    """As for kill."""

    def killed_components(self, components: Components) -> Collection[str]:
        """The target's component."""
        return (component_of(self.target, components),)

    def inject(self, world: World) -> Injected:
        """Ask the processes that the target means now to end; healing starts them again."""
        processes, label = resolve_processes(self.target, world)
        return Injected(
            target=label,
            heal=act_on_each(processes, lambda process: process.stop()),
            processes=tuple(process.name for process in processes),
        )
