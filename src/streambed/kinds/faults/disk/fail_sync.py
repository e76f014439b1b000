"""Fail sync: each sync of a process fails, as on a broken disk."""

from __future__ import annotations

from typing import Literal

from streambed.kinds.declaring import declared
from streambed.kinds.faults.disk.on_a_disk import OnSyncs, with_tolerated_end
from streambed.kinds.faults.targets import resolve_process
from streambed.world import Injected, World


@declared
class FailSync(OnSyncs):
    """Let every fsync, fdatasync, msync and sync_file_range of `target` fail with EIO from `at` on,
    for `lasts`. If the process ends of it, it is started again then.
    """

    kind: Literal["fail_sync"] = "fail_sync"
    target: str
    """A component with one process, one process of a component such as kafka/broker2, or a role
    such as leader of lines/0.
    """

    def inject(self, world: World) -> Injected:
        """Fail the syncs of the process that the target names now."""
        name, label = resolve_process(self.target, world)
        return with_tolerated_end(world, name, label, world.find(name).syncs.fail())
