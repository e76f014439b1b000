"""Enter the box: new user, network, mount, PID, UTS and IPC namespaces, as root or as a user.

    box process ── enter_namespaces() ── fork ──▶ process 1 ── settle_as_first()

Both belong in a fresh process without threads: the kernel refuses a user namespace to any other.
Some libraries start threads when they are imported (pyarrow is one), so this module imports little:
import it, enter, and import the rest afterwards.
"""

from __future__ import annotations

import os
from pathlib import Path

from streambed.errors import MachineError
from streambed.net import syscalls
from streambed.net.syscalls import (
    CLONE_NEWIPC,
    CLONE_NEWNET,
    CLONE_NEWNS,
    CLONE_NEWPID,
    CLONE_NEWUSER,
    CLONE_NEWUTS,
)

_REMEDIES = {
    ("kernel/unprivileged_userns_clone", "0"): "sudo sysctl kernel.unprivileged_userns_clone=1",
    ("user/max_user_namespaces", "0"): "sudo sysctl user.max_user_namespaces=10000",
    (
        "kernel/apparmor_restrict_unprivileged_userns",
        "1",
    ): "sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0",
}
_CONTAINER = (
    "inside a container, start it with --privileged, "
    "or with --security-opt seccomp=unconfined --cap-add SYS_ADMIN"
)


def enter_namespaces(*, network: bool = True) -> None:
    """Move this process into new namespaces; its next child starts the new PID namespace.

    The network namespace is new only if `network` is set.
    """
    uid, gid = os.geteuid(), os.getegid()
    if (threads := len(os.listdir("/proc/self/task"))) > 1:
        raise MachineError(
            f"a process with threads cannot enter a box, and this one has {threads}: enter before "
            "importing what starts them"
        )
    try:
        if uid != 0 or not _enter_with_every_id():
            _enter_with_one_id(uid=uid, gid=gid)
        syscalls.unshare(
            (CLONE_NEWNET if network else 0)
            | CLONE_NEWNS
            | CLONE_NEWPID
            | CLONE_NEWUTS
            | CLONE_NEWIPC
        )
    except OSError as error:
        raise MachineError(
            f"this machine does not let a user make namespaces ({error}); {remedy(_settings())}"
        ) from error


def settle_as_first() -> None:
    """Set up process 1 of the box: it dies with its parent, mounts stay private, /proc is new."""
    syscalls.die_with_parent()
    try:
        syscalls.mount("none", Path("/"), flags=syscalls.MS_REC | syscalls.MS_PRIVATE)
        syscalls.mount(
            "proc",
            Path("/proc"),
            kind="proc",
            flags=syscalls.MS_NOSUID | syscalls.MS_NODEV | syscalls.MS_NOEXEC,
        )
    except OSError as error:
        raise MachineError(
            f"this machine does not let a user mount inside a namespace ({error}); {_CONTAINER}"
        ) from error


def remedy(settings: dict[str, str]) -> str:
    """What to do where namespaces are forbidden, given the kernel settings that may forbid them."""
    commands = [
        command for (name, value), command in _REMEDIES.items() if settings.get(name) == value
    ]
    return f"to allow it: {' && '.join(commands)}" if commands else _CONTAINER


def identity_map(ranges: str) -> str:
    """A map of every id in /proc/self/uid_map to itself."""
    firsts_and_counts = [(line.split()[0], line.split()[2]) for line in ranges.splitlines()]
    return "\n".join(f"{first} {first} {count}" for first, count in firsts_and_counts)


def _settings() -> dict[str, str]:
    paths = {name: Path("/proc/sys", name) for name, _ in _REMEDIES}
    return {name: path.read_text().strip() for name, path in paths.items() if path.exists()}


def _enter_with_every_id() -> bool:
    """Root keeps all ids, so that other users' files stay readable and servers may change their
    user; False if refused.

    Only a process that stayed outside may write such a map: a child waits until this one has
    entered.
    """
    box, (entered, enter) = os.getpid(), os.pipe()
    writer = os.fork()
    if writer == 0:
        os.close(enter)
        os._exit(_write_identity(box, entered))
    os.close(entered)
    try:
        syscalls.unshare(CLONE_NEWUSER)
        os.write(enter, b"!")
    finally:  # The writer ends in any case: it reads the end of the pipe if nothing was entered.
        os.close(enter)
        _, status = os.waitpid(writer, 0)
    return status == 0


def _write_identity(box: int, entered: int) -> int:
    if not os.read(entered, 1):
        return 1
    try:
        for name in ("uid_map", "gid_map"):
            Path(f"/proc/{box}/{name}").write_text(
                identity_map(Path(f"/proc/self/{name}").read_text())
            )
    except OSError:
        return 1
    return 0


def _enter_with_one_id(*, uid: int, gid: int) -> None:
    """Map the caller to root. An earlier attempt may have entered a user namespace without a map:
    one inside it is refused.
    """
    if os.geteuid() == uid:
        syscalls.unshare(CLONE_NEWUSER)
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"0 {uid} 1")
    Path("/proc/self/gid_map").write_text(f"0 {gid} 1")
