"""Replace: a process hangs while a second life of it takes over; later the first comes back."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import ClassVar, Literal

from streambed.errors import Problem
from streambed.kinds.declared_components import Components
from streambed.kinds.declaring import declared
from streambed.kinds.faults.of_links import Links
from streambed.kinds.faults.targets import (
    OnAProcess,
    component_of,
    process_problems,
    resolve_process,
)
from streambed.world import Injected, World


@declared
class Replace(OnAProcess):
    """Stop `target` without ending it and start NAME~2 beside it; continue the first after `lasts`.

    From then on both run: the first does not know that it was replaced.
    """

    state: ClassVar[str] = "stopped"

    kind: Literal["replace"] = "replace"
    target: str
    """A component with one process that is not a server, or driver of JOB."""

    def problems(self, hosts: Sequence[str], links: Links, components: Components) -> list[Problem]:
        """Two servers cannot share a port and a data folder."""
        if problems := process_problems(self.target, components):
            return problems
        name = component_of(self.target, components)
        if components[name].server:  # An executor's component is its cluster.
            says = f"'{name}' is a server: two lives of it would want the same ports and files"
            return [Problem(key="target", says=f"{says}. Replace a client or a job")]
        return []

    def killed_components(self, components: Components) -> Collection[str]:
        """One of the two lives may end the other."""
        return (component_of(self.target, components),)

    def inject(self, world: World) -> Injected:
        """Pause the first and start the second; healing continues the first."""
        name, label = resolve_process(self.target, world)
        heal = world.find(name).pause()
        try:
            second = world.start_beside(name)
        except BaseException:
            heal()
            raise
        return Injected(
            target=f"{label} by {second.name}", heal=heal, processes=(name, second.name)
        )
