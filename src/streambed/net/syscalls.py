"""The system calls that Python 3.11 lacks: namespaces and mounts."""

from __future__ import annotations

import ctypes
import os
import signal
from collections.abc import Collection
from pathlib import Path

CLONE_NEWNS = 0x00020000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

MS_NOSUID = 0x2
MS_NODEV = 0x4
MS_NOEXEC = 0x8
MS_REMOUNT = 0x20
MS_BIND = 0x1000
MS_REC = 0x4000
MS_PRIVATE = 0x40000

PR_SET_PDEATHSIG = 1
PR_CAPBSET_DROP = 24

_MOUNT_SETATTR = 442
"""The same number on every architecture. Linux 5.12 was the first to have it."""
_AT_FDCWD, _AT_RECURSIVE, _ATTR_READ_ONLY = -100, 0x8000, 0x1
_LAST_CAPABILITY = Path("/proc/sys/kernel/cap_last_cap")

_libc = ctypes.CDLL(None, use_errno=True)


def _demand(result: int, asked: str) -> None:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{asked}: {os.strerror(number)}")


def unshare(flags: int) -> None:
    """Give the calling thread new namespaces. A user namespace is refused to a process that has
    threads.
    """
    _demand(_libc.unshare(flags), f"unshare({flags:#x})")


def setns(descriptor: int, kind: int) -> None:
    """Move the calling thread into a namespace that a descriptor holds."""
    _demand(_libc.setns(descriptor, kind), f"setns({kind:#x})")


def mount(source: str, target: Path, *, kind: str = "", flags: int = 0, options: str = "") -> None:
    """Mount in the calling thread's mount namespace."""
    words = (source.encode(), os.fsencode(target), kind.encode() or None)
    _demand(
        _libc.mount(*words, ctypes.c_ulong(flags), options.encode() or None),
        f"mount {kind or source} on {target}",
    )


def bind(source: str, target: Path) -> None:
    """Show the file or folder `source` at `target` as well."""
    mount(source, target, flags=MS_BIND | MS_REC)


class _MountAttributes(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("set", "clear", "propagation", "userns")]


def set_read_only(path: Path, read_only: bool, *, recursive: bool = True) -> None:
    """Make the mount at `path` and those below it read-only, or writable again."""
    flag = _ATTR_READ_ONLY
    attributes = _MountAttributes(flag, 0) if read_only else _MountAttributes(0, flag)
    result = _libc.syscall(
        _MOUNT_SETATTR,
        _AT_FDCWD,
        os.fsencode(path),
        _AT_RECURSIVE if recursive else 0,
        ctypes.byref(attributes),
        ctypes.sizeof(attributes),
    )
    _demand(result, f"make {path} {'read-only' if read_only else 'writable'}")


def drop_capabilities(remaining: Collection[int]) -> None:
    """Let programs that the calling thread starts have no capabilities but these."""
    for number in range(int(_LAST_CAPABILITY.read_text()) + 1):
        if number not in remaining:
            result = _libc.prctl(PR_CAPBSET_DROP, number, 0, 0, 0)
            _demand(result, f"prctl(PR_CAPBSET_DROP, {number})")


def die_with_parent() -> None:
    """Let the kernel kill this process when the thread that started it ends.

    Call it after a user namespace was entered: that change of credentials resets it.
    """
    _demand(_libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0), "prctl(PR_SET_PDEATHSIG)")
