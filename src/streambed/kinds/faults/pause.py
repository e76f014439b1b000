"""Pause: a process stands still without ending, as in a long pause of a garbage collector, and goes
on later.
"""

from __future__ import annotations

from typing import Literal

from streambed.kinds.declaring import declared
from streambed.kinds.faults.targets import OnAProcess, found_process
from streambed.units import Duration
from streambed.world import Injury, World


@declared
class Pause(OnAProcess):
    """Stop `target` at `at` without ending it; let it go on after `lasts`."""

    kind: Literal["pause"] = "pause"
    at: Duration
    """Counted from the start of the load."""
    lasts: Duration
    target: str
    """A component with one process, one process of a component such as kafka/broker2, or a role
    such as leader of lines/0.
    """

    def inject(self, world: World) -> Injury:
        """Whoever it is now, stops with all its children; healing lets them go on."""
        name, shown = found_process(self.target, world)
        return Injury(target=shown, heal=world.find(name).pause())
