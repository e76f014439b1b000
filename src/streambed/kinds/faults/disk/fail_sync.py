"""Fail sync: each sync of a process fails, as on a broken disk."""

from __future__ import annotations

from typing import ClassVar, Literal

from streambed.kinds.declaring import declared
from streambed.kinds.faults.disk.on_a_disk import OnSyncs, break_disks
from streambed.world import Injected, World


@declared
class FailSync(OnSyncs):
    """Let every fsync, fdatasync, msync and sync_file_range of `target` fail with EIO from `at` on,
    for `lasts`. If the process ends of it, it is started again then.
    """

    state: ClassVar[str] = "unable to sync"

    kind: Literal["fail_sync"] = "fail_sync"
    target: str
    """A component with one process, one process of a component such as kafka/broker2, or a role
    such as leader of lines/0.
    """

    def inject(self, world: World) -> Injected:
        """Fail the syncs of the processes that the target means now."""
        return break_disks(self.target, world, lambda process: process.syncs.fail())
