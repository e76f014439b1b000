"""Control groups that cap hosts and processes; every process joins its groups before it starts.

    folder ─┬─ host a (cap) ─┬─ process x (cap, weight)
            │                └─ process y
            └─ process z (cap)

There is one such tree for CPU time and one for memory; with cgroup v2 they are the same.
The launcher makes the groups and removes them; if it is killed, the box removes them. If both are
killed, empty groups stay behind until the next run with caps removes them.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from streambed.errors import MachineError
from streambed.record import wait_until
from streambed.runner.cgroups import hierarchies
from streambed.runner.cgroups.hierarchies import Controller

if TYPE_CHECKING:  # The box removes groups and should stay small.
    from streambed.plan import Allowance, Machine, Plan

PERIOD_US = 100_000
PERIOD_US_MAX = 1_000_000
QUOTA_US_MIN = 1_000
"""The kernel accepts no longer period and no smaller quota."""
NORMAL_SHARES = 1024
STEP = 1.25
"""Ratio of the weights of two neighbouring priorities, as with `nice`."""
REMOVE_S = 1.0
_OURS = re.compile(r"streambed-([0-9]+)-.+")
_JOIN = (
    'while [ "$1" != -- ]; do echo $$ > "$1/cgroup.procs" || exit 126; shift; done; '
    'shift; exec "$@"'
)

Settings = dict[str, str]
"""The value of each file of a group; a file whose name ends with a question mark may be missing."""


def quota(share: float, cores: int) -> tuple[int, int]:
    """The quota and period in µs that give a share of all cores; tiny shares get longer periods."""
    quota_us = share * cores * PERIOD_US
    if quota_us >= QUOTA_US_MIN:
        return round(quota_us), PERIOD_US
    period_us = round(QUOTA_US_MIN / (share * cores))
    if period_us > PERIOD_US_MAX:
        least = QUOTA_US_MIN / PERIOD_US_MAX / cores
        raise MachineError(
            f"a cap of {share:.4%} of {cores} cores is too small for the kernel: give {least:.4%} "
            "or more"
        )
    return QUOTA_US_MIN, period_us


def settings(
    controllers: Iterable[Controller], allowed: Allowance, *, cores: int, unified: bool
) -> Settings:
    """The settings of a group for an allowance; empty if these controllers do not limit it."""
    files: Settings = {}
    if "cpu" in controllers and allowed.cpu:
        quota_us, period_us = quota(allowed.cpu, cores)
        old = {"cpu.cfs_period_us": str(period_us), "cpu.cfs_quota_us": str(quota_us)}
        files |= {"cpu.max": f"{quota_us} {period_us}"} if unified else old
    if "cpu" in controllers and allowed.priority:
        old = {"cpu.shares": str(round(NORMAL_SHARES * STEP**-allowed.priority))}
        files |= {"cpu.weight.nice": str(allowed.priority)} if unified else old
    if "memory" in controllers and allowed.memory_bytes:
        # Swapped memory would not count, so swap is off.
        most = str(allowed.memory_bytes)
        old = {
            "memory.limit_in_bytes": most,
            "memory.memsw.limit_in_bytes?": most,
            "memory.swappiness?": "0",
        }
        unified_files = {"memory.max": most, "memory.swap.max?": "0"}
        files |= unified_files if unified else old
    return files


def trees(decided: Plan, owner: int) -> tuple[dict[Path, Settings], dict[str, list[str]]]:
    """The groups of a plan, parents first, and the groups that each process joins."""
    groups: dict[Path, Settings] = {}
    joins: dict[str, list[str]] = defaultdict(list)
    prefix = f"streambed-{owner}-{decided.name}-{Path(decided.directory).name}"
    for folder, controllers in _folders(decided.machine).items():
        unified = hierarchies.is_unified(folder)
        caps_of = partial(settings, controllers, cores=decided.machine.cores, unified=unified)
        parents: dict[str, Path] = {}
        for node in decided.nodes:
            caps = caps_of(node.allowance)
            if caps:
                parents[node.name] = folder / f"{prefix}-{node.name}"
                groups[parents[node.name]] = caps
        for process in decided.processes:
            caps = caps_of(process.allowance)
            if caps or process.node in parents:
                parent = parents.get(process.node, folder)
                group = parent / _process_group(prefix, process.name)
                groups[group] = caps
                joins[process.name].append(str(group))
    return groups, joins


def _process_group(prefix: str, process: str) -> str:
    """The name of the group of a process, in which a slash would be a folder."""
    return f"{prefix}-{process.replace('/', '.')}-process"


def _folders(machine: Machine) -> dict[Path, list[Controller]]:
    """Where groups can be made, and with which controllers."""
    folders: dict[Path, list[Controller]] = defaultdict(list)
    places: dict[Controller, str] = {"cpu": machine.cpu_groups, "memory": machine.memory_groups}
    for controller, place in places.items():
        if place:
            folders[Path(place)].append(controller)
    return folders


@contextlib.contextmanager
def apply_caps(decided: Plan) -> Iterator[Plan]:
    """Make the groups of a plan and remove them after the block.

    Yields the plan with the groups that its processes join.
    """
    groups, joins = trees(decided, os.getpid())
    if not groups:
        yield decided
        return
    roots = {_folder(group) for group in groups}
    folders = {folder: _controllers(groups, folder) for folder in roots}
    for folder in folders:
        sweep(folder)
    with contextlib.ExitStack() as stack:
        for folder, controllers in folders.items():
            stack.enter_context(hierarchies.enable_controllers(folder, controllers))
        stack.callback(remove, [str(group) for group in reversed(groups)])
        parents = {group.parent for group in groups}
        for group, settings in groups.items():
            _make(group, settings, below=group in parents)
        processes = [
            replace(spec, groups=tuple(joins.get(spec.name, ()))) for spec in decided.processes
        ]
        yield replace(decided, processes=tuple(processes))


def _folder(group: Path) -> Path:
    return group.parent.parent if _OURS.fullmatch(group.parent.name) else group.parent


def _controllers(groups: dict[Path, Settings], folder: Path) -> list[str]:
    files: set[str] = set()
    for group, settings in groups.items():
        if group.is_relative_to(folder):
            files.update(settings)
    return sorted({file.partition(".")[0] for file in files})


def _make(group: Path, settings: Settings, *, below: bool) -> None:
    try:
        group.mkdir()
        hierarchies.settle(group, below=below)
        for file, value in settings.items():
            path = group / file.rstrip("?")
            if path.exists() or not file.endswith("?"):
                path.write_text(value)
    except OSError as error:
        asked = ", ".join(f"{file.rstrip('?')} = {value}" for file, value in settings.items())
        raise MachineError(
            f"the kernel refuses a control group in {group.parent} with "
            f"{asked or 'no caps'}: {error}"
        ) from error


def groups_of(decided: Plan) -> list[str]:
    """All groups that `apply_caps` made, children first, in the order of removal."""
    joined = dict.fromkeys(group for process in decided.processes for group in process.groups)
    above = dict.fromkeys(
        str(Path(group).parent) for group in joined if _OURS.fullmatch(Path(group).parent.name)
    )
    return [*joined, *above]


def remove(groups: Iterable[str]) -> None:
    """Remove groups whose processes have ended; the kernel may need a moment to notice."""
    left = list(groups)
    wait_until(lambda: not [group for group in left if not _is_gone(Path(group))], limit_s=REMOVE_S)


def join_groups(groups: Sequence[str], argv: Sequence[str]) -> Sequence[str]:
    """A command that joins groups and then execs `argv`, so that no child escapes the caps."""
    return ["/bin/sh", "-c", _JOIN, "join", *groups, "--", *argv] if groups else argv


def memory_kills(groups: Sequence[str]) -> int:
    """How many processes of these groups the kernel has killed for memory."""
    files = [
        Path(group, name) for group in groups for name in ("memory.events", "memory.oom_control")
    ]
    words = [
        line.split() for file in files if file.exists() for line in file.read_text().splitlines()
    ]
    return sum(int(count) for name, count in words if name == "oom_kill")


def sweep(folder: Path) -> None:
    """Remove empty groups of killed runs: their names contain the pid of a dead launcher."""
    for group in folder.iterdir():
        ours = _OURS.fullmatch(group.name)
        if ours and not Path("/proc", ours[1]).exists():
            for below in filter(Path.is_dir, group.iterdir()):
                _is_gone(below)
            _is_gone(group)


def _is_gone(group: Path) -> bool:
    with contextlib.suppress(OSError):  # Busy as long as a process lives in it.
        group.rmdir()
    return not group.exists()
