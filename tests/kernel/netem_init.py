"""Process 1 of the machine that netem_machine.py boots: takes every measurement in a box of its own, tells, and powers off."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
import time
import traceback
from pathlib import Path
from typing import Any, NoReturn

import box
import measures  # noqa: F401  Once for all boxes.

from streambed.net import machine, syscalls

HERE = Path(__file__).parent
TELLS = Path("/dev/ttyS1")
LIMIT_S = 60
_FINIT_MODULE = 313
_POWER_OFF = 0x4321FEDC


def furnish() -> None:
    """Mount what the kernel shows of itself, and load the modules."""
    for kind, place in {"proc": "/proc", "sysfs": "/sys", "devtmpfs": "/dev", "tmpfs": "/tmp"}.items():
        Path(place).mkdir(exist_ok=True)
        syscalls.mount(kind, Path(place), kind=kind)
    for module in sorted((HERE / "modules").iterdir()):
        with module.open("rb") as file:
            assert ctypes.CDLL(None).syscall(_FINIT_MODULE, file.fileno(), b"", 0) == 0, f"{module.name} was refused"


def take(measurement: Path) -> dict[str, Any]:
    """What a fresh box found, or what went wrong. A fork of this process becomes the box: imports take seconds here."""
    asked = json.loads(measurement.read_text())
    folder = Path("/tmp", measurement.stem)
    folder.mkdir()
    os.chown(folder, asked["user"], asked["user"])
    (folder / "plan.json").write_text(json.dumps(asked["plan"]))
    said = folder / "said"
    child = os.fork()
    if child == 0:
        _become_box(folder, said, asked["measure"], asked["user"])
    status = os.waitpid(child, 0)[1]
    return {"error": said.read_text()} if status else json.loads(said.read_text())


def _become_box(folder: Path, said: Path, name: str, user: int) -> NoReturn:
    output = os.open(said, os.O_CREAT | os.O_WRONLY)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.setgid(user)
    os.setuid(user)
    signal.alarm(LIMIT_S)
    try:
        box.main(str(folder / "plan.json"), str(folder), name)
    except SystemExit as end:
        os._exit(1 if end.code else 0)
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)
    sys.stdout.flush()
    os._exit(0)


def tell(name: str, found: dict[str, Any], started: float) -> None:
    """One line for whoever booted this."""
    with TELLS.open("w") as port:
        port.write(json.dumps({"name": name, "found": found, "seconds": time.monotonic() - started}) + "\n")


def main() -> None:
    """Until the power is off, come what may: a machine whose process 1 ends is of no more use."""
    furnish()
    started = time.monotonic()
    tell("machine", vars(machine.examine()), started)
    for measurement in sorted((HERE / "measurements").iterdir()):
        started = time.monotonic()
        tell(measurement.stem, take(measurement), started)


if __name__ == "__main__":
    try:
        main()
    finally:
        ctypes.CDLL(None).reboot(_POWER_OFF)
