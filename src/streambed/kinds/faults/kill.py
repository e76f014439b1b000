"""Kill: a process dies without a word and is started again later."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from streambed.errors import Problem
from streambed.kinds.declaring import declared
from streambed.kinds.faults.fault import NeedsNothing
from streambed.kinds.faults.of_links import Ends
from streambed.kinds.faults.targets import found_process, process_problems, roles_among
from streambed.units import Duration
from streambed.world import Injury, World


@declared
class Kill(NeedsNothing):
    """Kill `target` at `at`; start it again after `lasts`."""

    kind: Literal["kill"] = "kill"
    at: Duration
    """Counted from the start of the load."""
    lasts: Duration
    target: str
    """A component with one process, one process of a component such as kafka/broker2, or a role such as leader of lines/0."""

    @property
    def aim(self) -> str:
        """What it should hit."""
        return self.target

    @property
    def roles(self) -> Sequence[str]:
        """Its target, if that is one."""
        return roles_among((self.target,))

    def problems(self, hosts: Sequence[str], links: Sequence[Ends], components: dict[str, Any]) -> list[Problem]:
        """The target must be a single process or a role."""
        return process_problems(self.target, components)

    def inject(self, world: World) -> Injury:
        """Whoever it is now, dies; healing starts it again."""
        name, shown = found_process(self.target, world)
        return Injury(target=shown, heal=world.find(name).strike())
