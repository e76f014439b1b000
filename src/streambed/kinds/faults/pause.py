"""Pause: a process is stopped and continued later, as in a long garbage collection."""

from __future__ import annotations

from contextlib import ExitStack
from typing import ClassVar, Literal

from streambed.kinds.declaring import declared
from streambed.kinds.faults.targets import OnAProcess, resolve_processes
from streambed.world import Injected, World


@declared
class Pause(OnAProcess):
    """Stop `target` at `at` without ending it; continue it after `lasts`."""

    state: ClassVar[str] = "stopped"

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
        with ExitStack() as healing:
            for process in processes:
                healing.callback(process.pause())
            return Injected(
                target=label,
                heal=healing.pop_all().close,
                processes=tuple(process.name for process in processes),
            )
