"""Slow sync: each sync of a process takes longer, as on a busy disk."""

from __future__ import annotations

from typing import ClassVar, Literal

from streambed.kinds.declaring import declared
from streambed.kinds.faults.disk.on_a_disk import OnSyncs, break_disks
from streambed.units import Duration
from streambed.world import Heal, Injected, Process, World


@declared
class SlowSync(OnSyncs):
    """Delay every fsync, fdatasync, msync and sync_file_range of `target` by `delay` from `at` on,
    for `lasts`.
    """

    state: ClassVar[str] = "slow to sync"

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
        """Delay the syncs of the processes that the target means now."""

        def slow(process: Process) -> Heal:
            return process.syncs.slow(self.delay.ns)

        return break_disks(self.target, world, slow, f"{self.delay} each")
