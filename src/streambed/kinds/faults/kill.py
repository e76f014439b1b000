"""Kill: a process gets SIGKILL and is started again later."""

from __future__ import annotations

from typing import Literal

from streambed.kinds.declaring import declared
from streambed.kinds.faults.targets import OnAProcess, resolve_process
from streambed.units import Duration
from streambed.world import Injury, World


@declared
class Kill(OnAProcess):
    """Kill `target` at `at`; start it again after `lasts`."""

    kind: Literal["kill"] = "kill"
    at: Duration
    """Counted from the start of the load."""
    lasts: Duration
    target: str
    """A component with one process, one process of a component such as kafka/broker2, or a role
    such as leader of lines/0.
    """

    def inject(self, world: World) -> Injury:
        """Kill the process that the target names now; healing starts it again."""
        name, label = resolve_process(self.target, world)
        return Injury(target=label, heal=world.find(name).strike())
