"""Power failure: processes are killed and lose what they have not synced."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import ExitStack
from random import Random
from typing import ClassVar, Literal

from streambed.errors import Problem
from streambed.kinds.declared_components import Components
from streambed.kinds.declaring import declared
from streambed.kinds.disks import Preparation
from streambed.kinds.faults.disk.on_a_disk import OnSyncs, disk_problems, sync_preparation
from streambed.kinds.faults.fault import Held
from streambed.kinds.faults.of_links import Links
from streambed.kinds.faults.targets import (
    component_of,
    known_processes,
    process_problems,
    resolve_processes,
)
from streambed.units import count_of
from streambed.world import Injected, Lost, World


@declared
class PowerFailure(OnSyncs):
    """Kill `target` at `at` and take away what it has not synced; start it again after `lasts`."""

    state: ClassVar[str] = "dead"
    needs_life: ClassVar[bool] = False

    kind: Literal["power_failure"] = "power_failure"
    target: str
    """A component, for all its processes at once, one process such as kafka/broker2, or a role such
    as leader of lines/0.
    """
    tail: Literal["lost", "torn"] = "lost"
    """What is left of an unsynced tail: nothing, or a part that is drawn by the seed."""

    def problems(self, hosts: Sequence[str], links: Links, components: Components) -> list[Problem]:
        """The target must only append to its files."""
        problems = []
        if self.target not in components:
            problems = process_problems(self.target, components) or self.executor_problems()
        problems = problems or disk_problems(self.target, components)
        if problems:
            return problems
        name = component_of(self.target, components)
        refusal = components[name].power_failure_refusal
        return [Problem(key="target", says=f"'{name}': {refusal}")] if refusal else []

    def prepares(self, components: Components) -> Sequence[Preparation]:
        """The syncs of all processes that may be hit are reported."""
        return (sync_preparation(self.target, components),)

    def holds(self, links: Links, components: Components) -> Sequence[Held]:
        """All processes of a component, or the one that is named."""
        return [Held(name, self.state) for name in known_processes(self.target, components)]

    def killed_components(self, components: Components) -> Collection[str]:
        """The target's component."""
        return (component_of(self.target, components),)

    def inject(self, world: World) -> Injected:
        """Kill all processes first, then cut their files; healing starts them again."""
        names, label = self._resolve(world)
        draw = Random(f"{world.plan.seed} {self.kind} {self.at} {self.target}")
        with ExitStack() as healing:  # If one cannot be cut, all are started again.
            for name in names:
                world.find(name).kill_at_once()
            for name in names:
                healing.callback(world.find(name).kill())
            losses = [
                world.find(name).syncs.files.lose_unsynced(
                    lambda tail: draw.randrange(tail) if self.tail == "torn" else 0
                )
                for name in names
            ]
            return Injected(
                target=f"{label}: {_loss_text(losses)}",
                heal=healing.pop_all().close,
                processes=tuple(names),
            )

    def _resolve(self, world: World) -> tuple[list[str], str]:
        processes = [
            spec.name
            for spec in world.plan.processes
            if spec.component == self.target and spec.reports_syncs
        ]
        if processes:
            return processes, self.target
        found, label = resolve_processes(self.target, world)
        return [process.name for process in found], label


def _loss_text(losses: Sequence[Lost]) -> str:
    removed = sum(loss.removed_files for loss in losses)
    cut = sum(loss.cut_files for loss in losses)
    lost_bytes = sum(loss.bytes for loss in losses)
    files = f"{count_of(cut, 'file')} cut, {count_of(removed, 'file')} removed"
    return f"{lost_bytes} bytes not synced, {files}"
