"""Slow sync: each sync of a process takes longer, as on a busy disk."""

from __future__ import annotations

from typing import Literal

from streambed.kinds.declaring import declared
from streambed.kinds.faults.disk.on_a_disk import OnSyncs, with_tolerated_end
from streambed.kinds.faults.targets import resolve_process
from streambed.units import Duration
from streambed.world import Injected, World


@declared
class SlowSync(OnSyncs):
    """Delay every fsync, fdatasync, msync and sync_file_range of `target` by `delay` from `at` on,
    for `lasts`.
    """

    kind: Literal["slow_sync"] = "slow_sync"
    target: str
    """A component with one process, one process of a component such as kafka/broker2, or a role
    such as leader of lines/0.
    """
    delay: Duration
    """What each call takes longer."""

    @property
    def aim(self) -> str:
        """The target and the delay."""
        return f"{self.target}: {self.delay} each"

    def inject(self, world: World) -> Injected:
        """Delay the syncs of the process that the target names now."""
        name, label = resolve_process(self.target, world)
        heal = world.find(name).syncs.slow(self.delay.ns)
        return with_tolerated_end(world, name, f"{label}: {self.delay} each", heal)
