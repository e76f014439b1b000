"""Rewind checkpoint: a driver dies after a batch is written and before it is committed."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Literal

from streambed.errors import Problem, WorldError
from streambed.kinds.declared_components import Components
from streambed.kinds.declaring import declared
from streambed.kinds.faults.disk.named_files import (
    checkpoint_problems,
    checksum_of,
    disk_of,
    entries_of,
)
from streambed.kinds.faults.of_links import Links
from streambed.kinds.faults.targets import OnATarget
from streambed.record import wait_until
from streambed.world import Injected, World

QUIET_LIMIT_S = 20.0
"""How long a moment between two batches is waited for."""


@declared
class RewindCheckpoint(OnATarget):
    """Kill the driver of `target` at `at`, between two batches, and delete the commit of its last
    batch; start it again after `lasts`. It is the state that a driver leaves that died between its
    sink and the commit.
    """

    kind: Literal["rewind_checkpoint"] = "rewind_checkpoint"
    target: str
    """A Spark job with its checkpoint in the run's folder."""

    @property
    def roles(self) -> Sequence[str]:
        """Empty: a job is named, not looked up by a role."""
        return ()

    def problems(self, hosts: Sequence[str], links: Links, components: Components) -> list[Problem]:
        """The target must be a job with its own checkpoint."""
        return checkpoint_problems(self.target, components, "target")

    def killed_components(self, components: Components) -> Collection[str]:
        """The job: its driver is killed before the checkpoint is rewound."""
        return (self.target,)

    def inject(self, world: World) -> Injected:
        """Kill the driver when no batch is in progress, and delete the newest commit."""
        disk = disk_of(self.target, world)
        with ExitStack() as healing:  # If there is no commit, the driver is started again.
            healing.callback(_kill_between_batches(self.target, disk, world))
            commit = _newest_commit(disk)
            checksum_of(commit).unlink(missing_ok=True)
            commit.unlink()
            return Injected(
                target=f"{self.target}: batch {commit.name} is not committed",
                heal=healing.pop_all().close,
                processes=(self.target,),
            )


def _kill_between_batches(job: str, disk: Path, world: World) -> Any:
    """Kill the driver while its newest batch is committed: how to start it again."""
    driver = world.find(job)
    if not driver.alive:
        if _is_committed(disk):
            return lambda: None
        raise WorldError(f"{job} died within a batch, which is not committed already")
    _newest_commit(disk)  # If there is none, nothing is killed.

    def stops_committed() -> bool:
        if not _is_committed(disk):
            return False
        resume = driver.pause()  # A stopped driver cannot begin a batch meanwhile.
        if _is_committed(disk):
            return True
        resume()
        return False

    if not wait_until(stops_committed, limit_s=QUIET_LIMIT_S, step_s=0.002):
        raise WorldError(f"{job} had a batch in progress for {QUIET_LIMIT_S:g} s")
    return driver.kill()


def _is_committed(disk: Path) -> bool:
    """Whether every batch that has begun is committed, in all queries."""
    for offsets in disk.rglob("offsets"):
        commits = offsets.with_name("commits")
        begun = max(entries_of(offsets), default=-1)
        committed = max(entries_of(commits), default=-1) if commits.is_dir() else -1
        if begun != committed:
            return False
    return True


def _newest_commit(disk: Path) -> Path:
    commits = [entry for log in disk.rglob("commits") for entry in entries_of(log).values()]
    if not commits:
        raise WorldError("no batch has been committed yet")
    return max(commits, key=lambda commit: commit.stat().st_mtime_ns)
