"""Restart: processes are stopped and started again, one after the other, each when the last is
ready.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Literal

from streambed.errors import Problem, WorldError
from streambed.kinds.components.roles import role
from streambed.kinds.declared_components import Components
from streambed.kinds.declaring import declared
from streambed.kinds.faults.fault import Held, Momentary
from streambed.kinds.faults.of_links import Links
from streambed.kinds.faults.targets import (
    component_of,
    known_processes,
    process_problems,
    resolve_processes,
    roles_among,
)
from streambed.record import wait_until
from streambed.units import Duration
from streambed.world import Heal, Injected, Missing, Process, World

READY_STEP_S = 0.1


@declared
class Restart(Momentary):
    """Stop each process of `target` and start it again, one after the other.

    The next one waits until the component is ready: of Kafka, until every replica is in sync. The
    fault is over when the last one is.
    """

    kind: Literal["restart"] = "restart"
    target: str
    """A component: all of its processes. Or as for kill."""
    by: Literal["stop", "kill"] = "stop"
    """stop: with SIGTERM; kill: with SIGKILL."""
    within: Duration = Duration(60e9)
    """How long each may take until it is ready."""

    @property
    def aim(self) -> str:
        """The target, as declared."""
        return self.target

    @property
    def roles(self) -> Sequence[str]:
        """The roles that must be looked up."""
        return roles_among((self.target,))

    def problems(self, hosts: Sequence[str], links: Links, components: Components) -> list[Problem]:
        """The target must be a component, a process or a role; an executor starts by itself."""
        if self.target in components:
            return []
        wanted = role(self.target)
        if wanted and wanted.kind == "executor":
            says = "its worker starts an executor again, not the run: kill it instead"
            return [Problem(key="target", says=says)]
        return process_problems(self.target, components)

    def holds(self, links: Links, components: Components) -> Sequence[Held]:
        """All its processes must be alive."""
        names = known_processes(self.target, components)
        return [Held(name, "being restarted") for name in names]

    def killed_components(self, components: Components) -> Collection[str]:
        """The target's component."""
        return (component_of(self.target, components),)

    def possible_outside(self, ours: Collection[str]) -> bool:
        """Processes that we run can be restarted anywhere."""
        return self.target.partition("/")[0] in ours

    def inject(self, world: World) -> Injected:
        """End the first; healing starts it again, then restarts the others."""
        processes = self._processes(world)
        component = world.components[component_of(self.target, dict(world.components))]
        start_first = self._end(processes[0])

        def roll() -> None:
            self._start(processes[0], start_first, component.readiness(world))
            for process in processes[1:]:
                self._start(process, self._end(process), component.readiness(world))

        names = tuple(process.name for process in processes)
        return Injected(target=", ".join(names), heal=roll, processes=names, how=f"by {self.by}")

    def _processes(self, world: World) -> list[Process]:
        if self.target in world.components:
            specs = world.plan.processes
            return [world.find(spec.name) for spec in specs if spec.component == self.target]
        return resolve_processes(self.target, world)[0]

    def _end(self, process: Process) -> Heal:
        end: Callable[[], Heal] = process.stop if self.by == "stop" else process.kill
        return end()

    def _start(self, process: Process, start: Heal, missing: Missing) -> None:
        start()

        def ready() -> bool:
            return not missing()

        if not wait_until(ready, limit_s=self.within.ns / 1e9, step_s=READY_STEP_S):
            raise WorldError(
                f"{process.name} was not ready within {self.within}: {missing()}. "
                "The others were not restarted"
            )
