"""Hierarchies of control groups, v1 and v2: where this user may make groups.

With v2 a group that has processes may only have threaded groups below it, which can cap CPU time
but not memory. To cap memory the parent group must be empty: the launcher moves into a group
beside the others during the run.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from streambed.errors import MachineError

Controller = Literal["cpu", "memory"]
_FILES: dict[Controller, str] = {"cpu": "cpu.cfs_quota_us", "memory": "memory.limit_in_bytes"}


def find() -> dict[Controller, str]:
    """For each controller a folder in which this user can make groups with a cap, or "".

    Found by making one. With cgroup v2 both controllers have the same folder, because a process
    belongs to one group only.
    """
    mounts, own = Path("/proc/mounts").read_text(), Path("/proc/self/cgroup").read_text()

    def first(controller: Controller, preferred: str = "") -> str:
        folders = [*filter(None, [preferred]), *map(str, candidates(mounts, own, controller))]
        return next((folder for folder in folders if grants(Path(folder), controller)), "")

    memory = first("memory")
    return {
        "cpu": first("cpu", memory if memory and is_unified(Path(memory)) else ""),
        "memory": memory,
    }


def candidates(mounts: str, own: str, controller: Controller) -> list[Path]:
    """In each hierarchy that may have a controller: our own group, then the root.

    `mounts` and `own` are the texts of /proc/mounts and /proc/self/cgroup.
    """
    lines = [line.split(":", 2) for line in own.splitlines()]
    paths = {name: path for _, names, path in lines for name in names.split(",")}
    folders = []
    for _, folder, kind, options, *_ in map(str.split, mounts.splitlines()):
        if kind == "cgroup2" or (kind == "cgroup" and controller in options.split(",")):
            path = paths.get("" if kind == "cgroup2" else controller, "/")
            folders += [Path(folder, path.lstrip("/")), Path(folder)]
    return list(dict.fromkeys(folders))


def grants(folder: Path, controller: Controller) -> bool:
    """Whether groups with a cap can be made in a folder."""
    try:
        if is_unified(folder) and not _may_enable(folder, controller):
            return False
        trial = Path(tempfile.mkdtemp(prefix=f"streambed-{os.getpid()}-", dir=folder))
    except OSError:
        return False
    try:
        return is_unified(folder) or (trial / _FILES[controller]).exists()
    finally:
        trial.rmdir()


def is_unified(folder: Path) -> bool:
    """Whether a folder is of cgroup v2."""
    return (folder / "cgroup.controllers").exists()


def _may_enable(folder: Path, controller: Controller) -> bool:
    """Whether the controller exists and processes may be moved from this group to a child."""
    writable = all(
        os.access(folder / name, os.W_OK) for name in ("cgroup.procs", "cgroup.subtree_control")
    )
    there = controller in (folder / "cgroup.controllers").read_text().split()
    return writable and there and (controller == "cpu" or _is_top(folder) or not others_in(folder))


def _is_top(folder: Path) -> bool:
    """Only the root group has no type; it may have both processes and children."""
    return not (folder / "cgroup.type").exists()


def others_in(folder: Path) -> list[str]:
    """The pids of a group's other processes."""
    return [pid for pid in (folder / "cgroup.procs").read_text().split() if pid != str(os.getpid())]


@contextlib.contextmanager
def enable_controllers(folder: Path, controllers: Sequence[str]) -> Iterator[None]:
    """Enable these controllers for children of a folder, and restore it after the block."""
    if not is_unified(folder):
        yield
        return
    moves = "memory" in controllers and not _is_top(folder)
    with (
        _move_below(folder) if moves else contextlib.nullcontext(),
        _write_subtree_control(folder, controllers),
    ):
        yield


@contextlib.contextmanager
def _move_below(folder: Path) -> Iterator[None]:
    """Move this process into a new group below the folder, and back after the block."""
    own = folder / f"streambed-{os.getpid()}-launcher"
    own.mkdir()
    try:
        (own / "cgroup.procs").write_text(str(os.getpid()))
        yield
    finally:
        # If another program has enabled controllers here meanwhile, the process cannot move back.
        with contextlib.suppress(OSError):
            (folder / "cgroup.procs").write_text(str(os.getpid()))
            own.rmdir()


@contextlib.contextmanager
def _write_subtree_control(folder: Path, controllers: Sequence[str]) -> Iterator[None]:
    file = folder / "cgroup.subtree_control"
    missing = [name for name in controllers if name not in file.read_text().split()]
    try:
        file.write_text(" ".join(f"+{name}" for name in missing))
    except OSError as error:
        raise MachineError(
            f"the kernel does not let {' and '.join(missing)} be capped in {folder}: {error}"
        ) from error
    try:
        yield
    finally:
        with contextlib.suppress(OSError):  # Another run may need them now.
            file.write_text(" ".join(f"-{name}" for name in missing))


def settle(group: Path, *, below: bool) -> None:
    """Make a new group valid, as a threaded one if need be; `below` enables its controllers."""
    if not is_unified(group):
        return
    kind = group / "cgroup.type"
    # Below a group that has processes, only threaded groups are valid.
    if kind.read_text().strip() == "domain invalid":
        kind.write_text("threaded")
    if below:
        names = (group / "cgroup.controllers").read_text().split()
        (group / "cgroup.subtree_control").write_text(
            " ".join(f"+{name}" for name in names if name in _FILES)
        )
