"""Kill: a process gets SIGKILL and is started again later."""

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
class Kill(OnAProcess):
    """Kill `target` at `at`; start it again after `lasts`."""

    state: ClassVar[str] = "dead"
    hits_executors: ClassVar[bool] = True

    kind: Literal["kill"] = "kill"
    target: str
    """A component with one process, one process of a component such as kafka/broker2, or a role
    such as leader of lines/0.
    """

    def killed_components(self, components: Components) -> Collection[str]:
        """The target's component; for a role, the Kafka whose brokers may hold it."""
        return (component_of(self.target, components),)

    def inject(self, world: World) -> Injected:
        """Kill the processes that the target means now; healing starts them again."""
        processes, label = resolve_processes(self.target, world)
        return Injected(
            target=label,
            heal=act_on_each(processes, lambda process: process.kill()),
            processes=tuple(process.name for process in processes),
        )
