"""How a run stands: status.json, written by whoever is left to write it."""

from __future__ import annotations

import contextlib
import json
import shutil
from pathlib import Path
from typing import Literal

from streambed.errors import StreambedError
from streambed.record import read_json, write_whole

State = Literal["running", "finished", "failed", "interrupted", "broken"]
BY_USER: tuple[State, str] = ("interrupted", "interrupted by the user")
"""How a run ends that nobody wants any more."""
FREE_BYTES_MIN = 1 << 20


def started_ticks(pid: int) -> int:
    """When a process started: with its number, this tells it from a later one of the same number; 0
    if it is gone.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return 0
    return int(stat.rpartition(")")[2].split()[19])


def begin(directory: Path, pid: int) -> None:
    """Note that a run is under way, and by which process."""
    write_whole(
        directory / "status.json",
        json.dumps({"state": "running", "reason": "", "pid": pid, "started": started_ticks(pid)}),
    )


def conclude(directory: Path, state: State, reason: str) -> None:
    """Note how a run ended; the first to conclude is believed."""
    status = read_json(directory / "status.json")
    if status.get("state", "running") == "running":
        write_whole(
            directory / "status.json", json.dumps({**status, "state": state, "reason": reason})
        )


def full_disk(directory: Path) -> str:
    """What to say if the disk of a run is full; empty if it is not."""
    if shutil.disk_usage(directory).free >= FREE_BYTES_MIN:
        return ""
    return f"the disk that holds {directory} is full: free some space, or run with --into on another disk"


def describe_failure(directory: Path, error: BaseException) -> None:
    """Conclude a failed run with its reason. On a full disk it may not be possible to write it:
    readers then find out by themselves.
    """
    trace = directory / "logs" / "box.log"
    said = (
        str(error)
        if isinstance(error, StreambedError)
        else f"{type(error).__name__}: {error}. The whole trace is in {trace}"
    )
    reason = full_disk(directory) or said
    with contextlib.suppress(OSError):
        conclude(directory, "failed", reason)


def state_of(directory: Path) -> tuple[State, str]:
    """How a run stands and why; a run whose process is gone without a conclusion is broken."""
    status = read_json(directory / "status.json")
    if not status:
        return "broken", "it was never begun"
    if status["state"] == "running" and started_ticks(status["pid"]) != status["started"]:
        return "broken", full_disk(directory) or "its processes were killed"
    return status["state"], status["reason"]
