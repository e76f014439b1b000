"""CPU cost of an idle network: 100 hosts and 100 switches, all port counters sampled each second,
no traffic.

    scripts/bench idle [--quick] [SECONDS]

Runs it as a user would and reads the CPU time of the conductor, the delay line and process 1 over a
period in which nothing happens. `cpu_share` is their sum as a share of one core; the launcher,
which is outside the box, is a separate figure. The last line is one JSON object. `--quick`: 10
hosts and 10 switches for three seconds.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks._arguments import parser
from benchmarks.build import tree

ROOT = Path(__file__).parents[1]
SETTLE_S = 3
LIMIT_S = 60


def fields(pid: int) -> list[str]:
    """The fields of /proc/PID/stat after the program's name; empty if the process is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def cpu_s(pid: int) -> float:
    """CPU seconds of a process and its threads, including threads that ended."""
    return sum(map(int, fields(pid)[11:13])) / os.sysconf("SC_CLK_TCK")


def child_of(pid: int, program: str) -> int:
    """The child whose command line contains `program`."""
    for entry in filter(str.isdigit, os.listdir("/proc")):
        if (
            fields(int(entry))[1:2] == [str(pid)]
            and program in Path(f"/proc/{entry}/cmdline").read_text()
        ):
            return int(entry)
    raise SystemExit(f"process {pid} has no child {program}")


def roles(launcher: int) -> dict[str, int]:
    """launcher ▸ box ▸ process 1 ▸ conductor ▸ delay line"""
    box = child_of(launcher, "streambed.runner.box")
    first = child_of(box, "streambed.runner.box")
    conductor = child_of(first, "streambed.runner.box")
    return {
        "launcher": launcher,
        "first": first,
        "conductor": conductor,
        "delay_line": child_of(conductor, "delay_line"),
    }


def wait_for_load(folder: Path) -> None:
    """Wait until the run is in its load phase."""
    end = time.monotonic() + LIMIT_S
    while not any(
        '"phase":"load"' in path.read_text()
        for path in folder.glob("runs/*/latest/history/events.jsonl")
    ):
        if time.monotonic() > end:
            raise SystemExit(f"the run did not reach its load within {LIMIT_S} s")
        time.sleep(0.1)


def main(seconds: float, size: int) -> None:
    """Measure one run."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        experiment = tree(hosts=size, switches=size, duration=f"{seconds + 2 * SETTLE_S:g}s")
        (folder / "idle.yaml").write_text(json.dumps({"version": 1, **experiment.declaration()}))
        command = [str(ROOT / ".venv" / "bin" / "streambed"), "run", "idle.yaml", "--no-report"]
        launcher = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL)
        wait_for_load(folder)
        print(
            f"{size} hosts and {size} switches are ready; measuring for {seconds:g} s",
            file=sys.stderr,
        )
        time.sleep(SETTLE_S)
        pids = roles(launcher.pid)
        began, before = time.monotonic(), {role: cpu_s(pid) for role, pid in pids.items()}
        time.sleep(seconds)
        took_s = time.monotonic() - began
        share = {role: (cpu_s(pid) - before[role]) / took_s for role, pid in pids.items()}
        if launcher.wait():
            raise SystemExit(f"the run ended with status {launcher.returncode}")
    of_box = sum(value for role, value in share.items() if role != "launcher")
    parts = {f"{role}_share": round(value, 5) for role, value in share.items()}
    print(
        json.dumps(
            {
                "bench": "idle",
                "hosts": size,
                "switches": size,
                "seconds": round(took_s, 1),
                "cpu_share": round(of_box, 5),
                **parts,
            }
        )
    )


if __name__ == "__main__":
    words = parser(__doc__, quick="10 hosts and 10 switches for three seconds")
    words.add_argument("seconds", nargs="?", type=float)
    asked = words.parse_args()
    main(asked.seconds or (3.0 if asked.quick else 30.0), 10 if asked.quick else 100)
