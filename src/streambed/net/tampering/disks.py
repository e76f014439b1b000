"""Disks in memory with a limited size, for processes whose disk a fault may fill."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from streambed.errors import WorldError
from streambed.net import syscalls
from streambed.plan import Plan, ProcessSpec
from streambed.record import wait_until
from streambed.world import Heal

FLAGS = syscalls.MS_NOSUID | syscalls.MS_NODEV
FILL_LIMIT_S = 1.0


class SmallDisk:
    """A tmpfs over a folder. Its files are copied to the folder below when it is unmounted."""

    def __init__(self, folder: Path, size_bytes: int) -> None:
        self._folder = folder
        self._size_bytes = size_bytes
        self._fills = 0
        folder.mkdir(parents=True, exist_ok=True)
        self._below = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        options = f"mode=755,size={size_bytes}"
        syscalls.mount("tmpfs", folder, kind="tmpfs", flags=FLAGS, options=options)

    def fill(self) -> Heal:
        """Leave no block free until healed."""
        self._fills += 1
        if not wait_until(self._shrink, limit_s=FILL_LIMIT_S, step_s=0.001):
            self._fills -= 1
            raise WorldError(f"{self._folder} grows too fast to be filled")

        def heal() -> None:
            self._fills -= 1
            if not self._fills:
                self._resize(self._size_bytes)

        return heal

    def _shrink(self) -> bool:
        """Make it as large as what is in it; False if something was written meanwhile."""
        status = os.statvfs(self._folder)
        used_blocks = status.f_blocks - status.f_bfree
        try:
            self._resize(max(1, used_blocks) * status.f_frsize)
        except OSError:
            return False
        return True

    def _resize(self, size_bytes: int) -> None:
        flags = FLAGS | syscalls.MS_REMOUNT
        syscalls.mount("none", self._folder, flags=flags, options=f"size={size_bytes}")

    def keep(self) -> None:
        """Copy the files to the folder below, so that they are still there after the run."""
        below = f"/proc/self/fd/{self._below}"
        shutil.copytree(self._folder, below, dirs_exist_ok=True, symlinks=True)
        os.close(self._below)


@contextmanager
def small_disks(plan: Plan) -> Iterator[dict[str, SmallDisk]]:
    """The disks of a plan by process. Call it before any host has copied our mounts, and end it
    when no process runs any more.
    """
    with ExitStack() as stack:
        disks = {}
        for process in plan.processes:
            if process.disk_bytes:
                disks[process.name] = _make(process, stack)
        yield disks


def _make(process: ProcessSpec, stack: ExitStack) -> SmallDisk:
    disk = SmallDisk(Path(process.disk), process.disk_bytes)
    stack.callback(disk.keep)
    return disk
