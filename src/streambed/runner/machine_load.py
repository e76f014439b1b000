"""The load of the whole machine, from cumulative counters of the kernel."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

STAT, PRESSURE, QUEUES = Path("/proc/stat"), Path("/proc/pressure/cpu"), Path("/proc/schedstat")
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
IDLE, STOLEN = (3, 4), 7
"""Columns of /proc/stat: idle and iowait; stolen. Guest time is included in other columns."""
COLUMNS = 8


def machine_load() -> Iterator[tuple[str, float]]:
    """CPU seconds busy, idle and stolen of all cores; and how long programs waited for a core.

    The wait is missing if the kernel does not count it.
    """
    yield from parse_stat(STAT.read_text())
    if PRESSURE.exists():
        yield "machine_waited_s", parse_pressure(PRESSURE.read_text())
    elif QUEUES.exists():
        yield "machine_waited_s", parse_queues(QUEUES.read_text())


def parse_stat(text: str) -> list[tuple[str, float]]:
    """The first line of /proc/stat."""
    ticks = [int(field) for field in text.split("\n", 1)[0].split()[1 : COLUMNS + 1]]
    idle, stolen = sum(ticks[column] for column in IDLE), ticks[STOLEN]
    parts = {"busy": sum(ticks) - idle - stolen, "idle": idle, "stolen": stolen}
    return [(f"machine_{name}_s", count / TICKS_PER_S) for name, count in parts.items()]


def parse_pressure(text: str) -> float:
    """For how long some program waited, from /proc/pressure/cpu."""
    some = next(line for line in text.splitlines() if line.startswith("some"))
    return int(some.rpartition("total=")[2]) / 1e6


def parse_queues(text: str) -> float:
    """For how long all programs together waited, core by core, from /proc/schedstat."""
    return sum(int(line.split()[8]) for line in text.splitlines() if line.startswith("cpu")) / 1e9


def waiting_times(pid: int) -> Iterator[tuple[str, float]]:
    """How long a process's first thread waited for a core, and how often it got one.

    Empty if the kernel does not count.
    """
    try:
        _, waited_ns, turns = Path(f"/proc/{pid}/schedstat").read_text().split()
    except (FileNotFoundError, ProcessLookupError):
        return
    yield "delay_line_waited_s", int(waited_ns) / 1e9
    yield "delay_line_turns", int(turns)
