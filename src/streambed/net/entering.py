"""Enter a host from outside: join the namespaces of a task, then run a command.

    python -m streambed.net.entering TASK FOLDER VACANT COMMAND...

A node in which nothing has run yet is vacant: it has no task, but the conductor holds its network.
The command then joins the conductor and sets up the node from there, as the host's thread would.

A new process does it, because the kernel lets no process with threads into another user namespace.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from streambed.net import syscalls
from streambed.net.hosts import HostFiles, move_in
from streambed.net.syscalls import (
    CLONE_NEWIPC,
    CLONE_NEWNET,
    CLONE_NEWNS,
    CLONE_NEWPID,
    CLONE_NEWUSER,
    CLONE_NEWUTS,
)

_KINDS = {
    "user": CLONE_NEWUSER,
    "pid": CLONE_NEWPID,
    "net": CLONE_NEWNET,
    "uts": CLONE_NEWUTS,
    "ipc": CLONE_NEWIPC,
    "mnt": CLONE_NEWNS,
}
"""The user namespace comes first: it is what gives the right to the others."""
NO_PROGRAM = 127
"""A shell's exit status for a program that does not exist."""
KILLED = 128


class Vacant(NamedTuple):
    """A node without tasks: its name, the conductor's descriptor, and what its host sees."""

    name: str
    descriptor: int
    host_files: HostFiles | None

    def as_argument(self) -> str:
        """All fields as one argument of a command."""
        paths: list[str] = []
        if self.host_files:
            paths = [str(self.host_files.names), *map(str, self.host_files.visible)]
        return json.dumps([self.name, self.descriptor, paths])


def command(task: Path, argv: Sequence[str], vacant: Vacant | None = None) -> list[str]:
    """The command that runs `argv` in the namespaces of a task, or in a vacant node; in the current
    folder if it exists there.
    """
    return [
        sys.executable,
        "-m",
        __name__,
        str(task),
        str(Path.cwd()),
        vacant.as_argument() if vacant else "",
        *argv,
    ]


def task_in(pids: Sequence[int], namespace: int) -> Path | None:
    """A thread of these processes that lives in a network namespace, which is named by its
    inode.
    """
    for pid in pids:
        for task in Path(f"/proc/{pid}/task").iterdir():
            if (task / "ns" / "net").stat().st_ino == namespace:
                return task
    return None


def holder(pids: Sequence[int], namespace: int, descriptor: int) -> Path | None:
    """The one of these processes that holds a network namespace, by its inode, as that
    descriptor.
    """
    for pid in pids:
        with suppress(FileNotFoundError):
            if Path(f"/proc/{pid}/fd/{descriptor}").stat().st_ino == namespace:
                return Path(f"/proc/{pid}")
    return None


def family(pid: int) -> list[int]:
    """A process and all that descend from it; those that end meanwhile may be left out."""
    pids = [pid]
    for parent in pids:
        try:
            tasks = list(Path(f"/proc/{parent}/task").iterdir())
            children = " ".join((task / "children").read_text() for task in tasks)
        except (FileNotFoundError, ProcessLookupError):
            continue
        pids += map(int, children.split())
    return pids


def enter(task: Path) -> None:
    """Join all namespaces of a task; that of processes is for children."""
    held = {kind: os.open(task / "ns" / kind, os.O_RDONLY | os.O_CLOEXEC) for kind in _KINDS}
    for kind, flag in _KINDS.items():
        syscalls.setns(held[kind], flag)


def main(task: str, folder: str, vacant: str, *argv: str) -> int:
    """Run a command where a task lives, or in a vacant node; its exit status."""
    name, descriptor, paths = json.loads(vacant) if vacant else ("", 0, [])
    network = os.open(f"{task}/fd/{descriptor}", os.O_RDONLY | os.O_CLOEXEC) if vacant else -1
    enter(Path(task))
    child = os.fork()
    if child == 0:
        if vacant:  # Only now: /proc in the box knows this process, but not its parent.
            host_files = None
            if paths:
                names, *visible = map(Path, paths)
                host_files = HostFiles(names=names, visible=tuple(visible))
            move_in(network, name, host_files)
        os.chdir(folder if Path(folder).is_dir() else "/")
        try:
            os.execvp(argv[0], argv)
        except OSError as error:
            sys.stderr.write(f"{argv[0]}: {error.strerror}\n")
            os._exit(NO_PROGRAM)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the command.
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return status if status >= 0 else KILLED - status


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
