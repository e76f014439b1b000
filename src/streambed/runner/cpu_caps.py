"""CPU caps: one control group of the kernel for each capped host, which every process of that host joins before it begins.

The launcher makes the groups and removes them; if it is killed the box removes them. A group that both left is empty and does
nothing, and the next run with caps removes it.
"""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from streambed.errors import MachineError
from streambed.record import wait_until

if TYPE_CHECKING:  # The box removes groups and should stay small.
    from streambed.plan import Plan

PERIOD_US = 100_000
PERIOD_US_MAX = 1_000_000
QUOTA_US_MIN = 1_000
"""The kernel accepts no longer period and no smaller quota."""
REMOVE_S = 1.0
_OURS = re.compile(r"streambed-([0-9]+)-.+")
_JOIN = 'echo $$ > "$0/cgroup.procs" && exec "$@"'


def quota(share: float, cores: int) -> tuple[int, int]:
    """Of each period how much CPU time, both in microseconds, comes to a share of so many cores; tiny shares have longer periods."""
    quota_us = share * cores * PERIOD_US
    if quota_us >= QUOTA_US_MIN:
        return round(quota_us), PERIOD_US
    period_us = round(QUOTA_US_MIN / (share * cores))
    if period_us > PERIOD_US_MAX:
        least = QUOTA_US_MIN / PERIOD_US_MAX / cores
        raise MachineError(f"a cap of {share:.4%} of {cores} cores is too small for the kernel: give {least:.4%} or more")
    return QUOTA_US_MIN, period_us


def find() -> str:
    """The folder in which this user may make groups with a cap, found by making one; empty if there is none."""
    folders = candidates(Path("/proc/mounts").read_text(), Path("/proc/self/cgroup").read_text())
    return next((str(folder) for folder in folders if _grants(folder)), "")


def candidates(mounts: str, own: str) -> list[Path]:
    """In each hierarchy that may cap CPU time: the group of this process, then the topmost; from /proc/mounts and /proc/self/cgroup."""
    lines = [line.split(":", 2) for line in own.splitlines()]
    paths = {controller: path for _, controllers, path in lines for controller in controllers.split(",")}
    found = []
    for _, folder, kind, options, *_ in map(str.split, mounts.splitlines()):
        if kind == "cgroup2" or (kind == "cgroup" and "cpu" in options.split(",")):
            path = paths.get("" if kind == "cgroup2" else "cpu", "/")
            found += [Path(folder, path.lstrip("/")), Path(folder)]
    return list(dict.fromkeys(found))


@contextlib.contextmanager
def applied(decided: Plan) -> Iterator[Plan]:
    """The plan with a group for each capped host; the groups are there from now on and go on every way out."""
    folder, made = Path(decided.machine.caps), dict[str, str]()
    if any(node.cpu for node in decided.nodes):
        _sweep(folder)
    try:
        for node in decided.nodes:
            if node.cpu:
                group = folder / f"streambed-{os.getpid()}-{decided.name}-{Path(decided.directory).name}-{node.name}"
                quota_us, period_us = quota(node.cpu, decided.machine.cores)
                made[node.name] = str(group)
                _make(group, quota_us=quota_us, period_us=period_us)
        yield replace(decided, nodes=tuple(replace(node, group=made.get(node.name, "")) for node in decided.nodes))
    finally:
        remove(made.values())


def remove(groups: Iterable[str]) -> None:
    """Remove groups whose processes have ended; the kernel may need a moment to notice."""
    left = list(groups)
    wait_until(lambda: not [group for group in left if not _gone(Path(group))], limit_s=REMOVE_S)


def joined(group: str, argv: Sequence[str]) -> Sequence[str]:
    """A command that joins a group first and then becomes `argv`, so that no child can escape; as it is without a group."""
    return ["/bin/sh", "-c", _JOIN, group, *argv] if group else argv


def _grants(folder: Path) -> bool:
    try:
        if _is_unified(folder) and not _may_enable(folder):
            return False
        trial = Path(tempfile.mkdtemp(prefix=f"streambed-{os.getpid()}-", dir=folder))
    except OSError:
        return False
    try:
        return _is_unified(folder) or (trial / "cpu.cfs_quota_us").exists()
    finally:
        trial.rmdir()


def _is_unified(folder: Path) -> bool:
    return (folder / "cgroup.controllers").exists()


def _may_enable(folder: Path) -> bool:
    """Whether the controller is there, and processes may be moved from this group to one below it."""
    writable = all(os.access(folder / name, os.W_OK) for name in ("cgroup.procs", "cgroup.subtree_control"))
    return writable and "cpu" in (folder / "cgroup.controllers").read_text().split()


def _make(group: Path, *, quota_us: int, period_us: int) -> None:
    try:
        if _is_unified(group.parent):
            _make_unified(group, f"{quota_us} {period_us}")
        else:
            group.mkdir()
            (group / "cpu.cfs_period_us").write_text(str(period_us))
            (group / "cpu.cfs_quota_us").write_text(str(quota_us))
    except OSError as error:
        raise MachineError(f"the kernel refuses a cap of {quota_us} of every {period_us} us in {group.parent}: {error}") from error


def _make_unified(group: Path, cap: str) -> None:
    enabled = group.parent / "cgroup.subtree_control"
    if "cpu" not in enabled.read_text().split():
        enabled.write_text("+cpu")
    group.mkdir()
    kind = group / "cgroup.type"
    if kind.read_text().strip() == "domain invalid":  # We live in the group above: only threaded groups may be below an inhabited one.
        kind.write_text("threaded")
    (group / "cpu.max").write_text(cap)


def _sweep(folder: Path) -> None:
    """Remove what killed runs left: groups that bear the number of a process that is gone, and that nobody lives in."""
    for group in folder.iterdir():
        ours = _OURS.fullmatch(group.name)
        if ours and not Path("/proc", ours[1]).exists():
            _gone(group)


def _gone(group: Path) -> bool:
    with contextlib.suppress(OSError):  # Busy as long as a process lives in it.
        group.rmdir()
    return not group.exists()
