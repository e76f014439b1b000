"""Run streambed as a user does: as a program, in a separate folder."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
STREAMBED = [sys.executable, "-m", "streambed"]
STEP_S = 0.01


def streambed(
    *words: str | Path, cwd: Path, env: dict[str, str] | None = None, limit_s: float = 300
) -> subprocess.CompletedProcess[str]:
    """Run one command to its end."""
    return subprocess.run(
        [*STREAMBED, *map(str, words)],
        cwd=cwd,
        env={**os.environ, **(env or {})},
        capture_output=True,
        text=True,
        timeout=limit_s,
        check=False,
    )


def start(file: Path, into: Path) -> subprocess.Popen[str]:
    """Start a run without waiting for it."""
    command = [*STREAMBED, "run", str(file), "--into", str(into), "--no-report"]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )


def wait_for(condition: Callable[[], Any], limit_s: float, what: str) -> Any:
    """Wait until the condition returns something true, and return that."""
    end = time.monotonic() + limit_s
    while not (result := condition()):
        assert time.monotonic() < end, f"waited {limit_s:g} s for {what}"
        time.sleep(STEP_S)
    return result


def children(pid: int) -> list[int]:
    """The children of a process, seen from outside."""
    try:
        return [
            int(child)
            for task in Path(f"/proc/{pid}/task").iterdir()
            for child in (task / "children").read_text().split()
        ]
    except (FileNotFoundError, ProcessLookupError):
        return []


def family(pid: int) -> Iterator[int]:
    """A process and all that descend from it."""
    yield pid
    for child in children(pid):
        yield from family(child)


def lives(pid: int) -> bool:
    """Whether a process runs; one that has ended and waits to be reaped does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def phases(directory: Path) -> list[str]:
    """The phases that a run has reached."""
    path = directory / "history" / "events.jsonl"
    lines = path.read_text().split("\n")[:-1] if path.exists() else []
    return [event["phase"] for event in map(json.loads, lines) if event["event"] == "phase"]


def only_run(into: Path) -> Path | None:
    """The folder of the one run under `into`, once it is there."""
    folders = [path.parent for path in into.glob("*/*/status.json")]
    runs = [folder for folder in folders if not folder.is_symlink()]
    return runs[0] if runs else None


def end_now(process: subprocess.Popen[str]) -> None:
    """Kill a run if it still goes, and collect its output."""
    if process.poll() is None:
        process.send_signal(signal.SIGKILL)
    process.communicate()
