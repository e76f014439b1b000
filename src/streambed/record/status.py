"""The state of a run: status.json, written by the box or, if that was killed, by the launcher."""

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
"""State and reason of a run that the user stopped."""
FREE_BYTES_MIN = 1 << 20


def started_ticks(pid: int) -> int:
    """When a process started: tells it from a later one with the same pid. 0 if it is gone."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return 0
    return int(stat.rpartition(")")[2].split()[19])


def begin(directory: Path, pid: int) -> None:
    """Record that a run has begun, and in which process."""
    write_whole(
        directory / "status.json",
        json.dumps({"state": "running", "reason": "", "pid": pid, "started": started_ticks(pid)}),
    )


def conclude(directory: Path, state: State, reason: str) -> None:
    """Record how a run ended; only the first call has an effect."""
    status = read_json(directory / "status.json")
    if status.get("state", "running") == "running":
        write_whole(
            directory / "status.json", json.dumps({**status, "state": state, "reason": reason})
        )


def full_disk(directory: Path) -> str:
    """The reason to give if the disk of a run is full; empty if it is not."""
    if shutil.disk_usage(directory).free >= FREE_BYTES_MIN:
        return ""
    advice = "free some space, or run with --into on another disk"
    return f"the disk that holds {directory} is full: {advice}"


def describe_failure(directory: Path, error: BaseException) -> None:
    """Conclude a failed run with its reason."""
    if isinstance(error, StreambedError):
        message = str(error)
    else:
        trace = directory / "logs" / "box.log"
        message = f"{type(error).__name__}: {error}. The whole trace is in {trace}"
    reason = full_disk(directory) or message
    # On a full disk this may fail; `state_of` then finds the process gone and the disk full.
    with contextlib.suppress(OSError):
        conclude(directory, "failed", reason)


def state_of(directory: Path) -> tuple[State, str]:
    """The state of a run and its reason; broken if its process is gone without a conclusion."""
    status = read_json(directory / "status.json")
    if not status:
        return "broken", "it was never begun"
    if status["state"] == "running" and started_ticks(status["pid"]) != status["started"]:
        return "broken", full_disk(directory) or "its processes were killed"
    return status["state"], status["reason"]
