"""Pause: a process is stopped and continued later, as in a long garbage collection."""

from __future__ import annotations

from typing import Literal

from streambed.kinds.declaring import declared
from streambed.kinds.faults.targets import OnAProcess, resolve_process
from streambed.units import Duration
from streambed.world import Injury, World


@declared
class Pause(OnAProcess):
    """Stop `target` at `at` without ending it; continue it after `lasts`."""

    kind: Literal["pause"] = "pause"
    at: Duration
    """Counted from the start of the load."""
    lasts: Duration
    target: str
    """A component with one process, one process of a component such as kafka/broker2, or a role
    such as leader of lines/0.
    """

    def inject(self, world: World) -> Injury:
        """Stop the process that the target names now, with its children; healing continues them."""
        name, label = resolve_process(self.target, world)
        return Injury(target=label, heal=world.find(name).pause())
