"""Run a command as an ordinary user, in a view of the file system in which that user may reach what
the tests use.

    python ordinary.py UID FOLDER... -- COMMAND...

A root who runs the tests may keep Python or the checkout in a folder that is closed to others. In a
mount namespace of our own each closed folder on the way is covered by an open, empty one, and what
is needed in it is put back.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from streambed.net import syscalls


def closed_ancestors(folders: list[Path]) -> dict[Path, list[Path]]:
    """The topmost closed folder above each needed one."""
    found: dict[Path, list[Path]] = {}
    for folder in folders:
        closed = next(
            (above for above in reversed(folder.parents) if not above.stat().st_mode & 0o001), None
        )
        if closed:
            found.setdefault(closed, []).append(folder)
    return found


def open_up(folders: list[Path]) -> None:
    """Cover what is closed, and put back what is needed."""
    syscalls.unshare(syscalls.CLONE_NEWNS)
    syscalls.mount("none", Path("/"), flags=syscalls.MS_REC | syscalls.MS_PRIVATE)
    for closed, needed in closed_ancestors(folders).items():
        held = {folder: os.open(folder, os.O_PATH) for folder in needed}
        syscalls.mount("tmpfs", closed, kind="tmpfs", options="mode=755")
        for folder, descriptor in held.items():
            folder.mkdir(parents=True, exist_ok=True)
            syscalls.bind(f"/proc/self/fd/{descriptor}", folder)
            os.close(descriptor)


def main() -> None:
    at = sys.argv.index("--")
    uid, folders, command = (
        int(sys.argv[1]),
        [Path(word).resolve() for word in sys.argv[2:at]],
        sys.argv[at + 1 :],
    )
    here = os.getcwd()
    open_up(folders)
    os.chdir(here)  # Not the folder that may have been covered.
    os.setgroups([])
    os.setgid(uid)
    os.setuid(uid)
    os.execvp(command[0], command)


if __name__ == "__main__":
    main()
