"""Pause: a process is stopped and continued later, as in a long garbage collection."""

from __future__ import annotations

from typing import ClassVar, Literal

from streambed.kinds.declaring import declared
from streambed.kinds.faults.targets import OnAProcess, act_on_each, resolve_processes
from streambed.world import Injected, World


@declared
class Pause(OnAProcess):
    """Stop `target` at `at` without ending it; continue it after `lasts`."""

    state: ClassVar[str] = "stopped"
    hits_executors: ClassVar[bool] = True

    kind: Literal["pause"] = "pause"
    target: str
    """A component with one process, one process of a component such as kafka/broker2, or a role
    such as leader of lines/0.
    """

    def inject(self, world: World) -> Injected:
        """Stop the processes that the target means now, with their children; healing continues
        them.
        """
        processes, label = resolve_processes(self.target, world)
        return Injected(
            target=label,
            heal=act_on_each(processes, lambda process: process.pause()),
            processes=tuple(process.name for process in processes),
        )
