"""What programs of a run by root cannot do: change the machine.

Root in the box is root of the machine to its files. So each host has a file system that is
read-only but for a few folders, its own devices, and programs without the capabilities to change
that. An ordinary user's box is left alone: the kernel holds it to that user's rights.

    host's thread ── protect_machine() ──▶ thread ── drop_capabilities() ──▶ program
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from streambed.net import syscalls

Result = TypeVar("Result")

KEPT_CAPABILITIES = frozenset(
    (
        *range(9),  # CHOWN, DAC_*, FOWNER, FSETID, KILL, SETGID, SETUID, SETPCAP
        *range(10, 16),  # NET_BIND_SERVICE, NET_*, IPC_*
        23,  # SYS_NICE
        24,  # SYS_RESOURCE
        31,  # SETFCAP
    )
) - {2}  # DAC_READ_SEARCH opens files by handle, past all mounts.
"""What programs may do inside the box: use files, change their user, configure the host's network.
Not among them: SYS_ADMIN would undo read-only mounts, SYS_PTRACE would enter the conductor.
"""
ENTER_NETWORKS = 21
"""CAP_SYS_ADMIN, which streambed's agents need to enter the networks of several hosts."""
DEVICES = ("full", "null", "random", "tty", "urandom", "zero")
LINKS = {"fd": "fd", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2"}
MEMORY_LIMIT = "size=2g"
_ROOT, _TMP = Path("/"), Path("/tmp")
_DEV, _PROC, _SYS = Path("/dev"), Path("/proc"), Path("/sys")


def is_root_of_machine() -> bool:
    """Whether root in this user namespace is root outside of it too."""
    first, outside, _ = Path("/proc/self/uid_map").read_text().split()[:3]
    return first == outside == "0"


def protect_machine(writable: Iterable[Path], group_files: Iterable[Path] = ()) -> None:
    """Make the calling thread's file system read-only but for its /tmp and `writable` paths.

    `group_files` are the files by which processes join their control groups. Call it in a new
    mount namespace, before any file is opened there for writing.
    """
    paths = [path for path in dict.fromkeys(writable) if path not in (_ROOT, _TMP)]
    open_paths = [path for path in paths if os.access(path, os.W_OK)]
    for path in open_paths:
        syscalls.bind(str(path), path)
    _own_devices()
    syscalls.set_read_only(_ROOT, True)
    for path in (_TMP, _DEV / "shm"):
        syscalls.set_read_only(path, False, recursive=False)
    for path in open_paths:
        _let_write(path)
    _protect_kernel()
    for path in group_files:
        syscalls.bind(str(path), path)
        syscalls.set_read_only(path, False)


def start_confined(begin: Callable[[], Result], *, enters_networks: bool) -> Result:
    """Start a program from a new thread that has dropped capabilities; the caller keeps its own."""
    capabilities = KEPT_CAPABILITIES | ({ENTER_NETWORKS} if enters_networks else set())

    def drop_and_begin() -> Result:
        syscalls.drop_capabilities(capabilities)
        return begin()

    with ThreadPoolExecutor(1) as starter:
        return starter.submit(drop_and_begin).result()


def _let_write(path: Path) -> None:
    """Make a path writable, and the mounts below it unless one is read-only outside the box."""
    try:
        syscalls.set_read_only(path, False)
    except PermissionError:
        syscalls.set_read_only(path, False, recursive=False)


def _protect_kernel() -> None:
    """Make /sys and the machine's part of /proc read-only; a process may write its own entries."""
    syscalls.set_read_only(_SYS, True)
    syscalls.set_read_only(_PROC, False, recursive=False)
    for name in sorted(os.listdir(_PROC)):
        path = _PROC / name
        if name.isdigit() or path.is_symlink():
            continue
        if path.is_dir() or path.stat().st_mode & 0o222:
            syscalls.bind(str(path), path)
            syscalls.set_read_only(path, True)


def _own_devices() -> None:
    """A /dev with the devices that every program may use: no disks, no kernel log.

    What the machine itself lacks, as a small container may, is left out.
    """
    present = [name for name in (*DEVICES, "pts") if (_DEV / name).exists()]
    held = {name: os.open(_DEV / name, os.O_PATH | os.O_CLOEXEC) for name in present}
    syscalls.mount("tmpfs", _DEV, kind="tmpfs", flags=syscalls.MS_NOSUID, options="mode=755")
    for name, descriptor in held.items():
        if name == "pts":
            (_DEV / name).mkdir()
        else:
            (_DEV / name).touch()
        syscalls.bind(f"/proc/thread-self/fd/{descriptor}", _DEV / name)
        os.close(descriptor)
    (_DEV / "ptmx").symlink_to("pts/ptmx")
    for name, target in LINKS.items():
        (_DEV / name).symlink_to(f"/proc/self/{target}")
    (_DEV / "shm").mkdir()
    syscalls.mount(
        "tmpfs",
        _DEV / "shm",
        kind="tmpfs",
        flags=syscalls.MS_NOSUID | syscalls.MS_NODEV,
        options=f"mode=1777,{MEMORY_LIMIT}",
    )
