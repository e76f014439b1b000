"""Process 1 of the machine that netem_machine.py boots: says what it is, then measures what it is
asked to, each in a box of its own.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
import traceback
import tty
from pathlib import Path
from typing import Any, NoReturn

from streambed.net import machine, syscalls
from tests.support.kernel import (
    box,
    measures,  # noqa: F401  Imported once for all boxes: here that takes seconds.
)

HOME = Path(__file__).parents[3]
PORT = "/dev/ttyS1"
LIMIT_S = 60
_FINIT_MODULE = 313
_PR_SET_DUMPABLE = 4
_POWER_OFF = 0x4321FEDC

_libc = ctypes.CDLL(None)


def furnish() -> None:
    """Mount what the kernel shows of itself, and load the modules."""
    for kind, place in {
        "proc": "/proc",
        "sysfs": "/sys",
        "devtmpfs": "/dev",
        "tmpfs": "/tmp",
        "cgroup2": "/sys/fs/cgroup",
    }.items():
        Path(place).mkdir(exist_ok=True)
        syscalls.mount(kind, Path(place), kind=kind)
    for module in sorted((HOME / "modules").iterdir()):
        with module.open("rb") as file:
            assert _libc.syscall(_FINIT_MODULE, file.fileno(), b"", 0) == 0, (
                f"{module.name} was refused"
            )


def take(number: int, *, plan: dict[str, Any], measure: str, user: int) -> dict[str, Any]:
    """What a box found, or what went wrong."""
    folder = Path("/tmp", str(number))
    folder.mkdir()
    (folder / "plan.json").write_text(json.dumps(plan))
    os.chown(folder, user, user)
    child = os.fork()
    if child == 0:
        _be_box(folder, measure, user)
    failed = os.waitpid(child, 0)[1]
    output = (folder / "said").read_text()
    return {"error": output or "it took too long"} if failed else json.loads(output)


def _be_box(folder: Path, measure: str, user: int) -> NoReturn:
    """Do as `python box.py` does, in this fork, as that user."""
    status = 1
    try:
        signal.alarm(LIMIT_S)
        output = os.open(folder / "said", os.O_CREAT | os.O_WRONLY)
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.setgid(user)
        os.setuid(user)
        _libc.prctl(
            _PR_SET_DUMPABLE, 1, 0, 0, 0
        )  # Otherwise a process that changed its user may not write its id maps.
        box.main(str(folder / "plan.json"), str(folder), measure)
        status = 0
    except SystemExit as end:
        status = int(bool(end.code))
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(status)


def main() -> None:
    """Answer line by line, until told to end."""
    furnish()
    with open(PORT, "r+b", buffering=0) as port:
        tty.setraw(port)
        port.write(json.dumps(vars(machine.examine())).encode() + b"\n")
        for number, line in enumerate(iter(port.readline, b"\n")):
            port.write(json.dumps(take(number, **json.loads(line))).encode() + b"\n")


if __name__ == "__main__":
    try:
        main()
    except BaseException:
        traceback.print_exc()  # To the console, which the one who booted this can read.
    finally:
        _libc.reboot(_POWER_OFF)
