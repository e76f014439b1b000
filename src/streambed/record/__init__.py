"""A run's folder, and how to write into it. Imports only the standard library: the box uses it.

runs/<name>/<time>/
  experiment.yaml plan.json status.json versions.json verdicts.json fidelity.json report.html
  history/   events.jsonl · samples.arrow · sent-<process>.arrow · seen-<process>.arrow ·
             kept-<process>.arrow (all .parquet after the run)
  handed_in/ ledgers and tables of programs that are not agents: sent*.parquet, seen*.parquet,
             table-*.csv
  gauges/    one small JSON per agent, rewritten while it runs
  orders/    one JSON per agent: what it has to do
  gates/     files that appear when agents may continue: servers, load
  data/      what servers and jobs store
  logs/      one per process
  figures/   every figure of the report as SVG
  captures/  one pcap file for each link that is captured, if any is
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from streambed.errors import FormatError

RUNS = Path("runs")
"""The folder that keeps runs, unless the user names another."""
EVENTS = "events.jsonl"
HANDED_IN = "handed_in"
"""The folder for what programs hand in (record/handed_in.py)."""
TEMPORARY = "temporary"
"""The file that marks a folder to be removed when its processes end."""
FOLDERS = ("history", HANDED_IN, "gauges", "orders", "gates", "data", "logs", "figures")


now_ns = time.monotonic_ns
"""The one clock of a run: the machine's monotonic nanoseconds."""


def file_name(process: str) -> str:
    """The name of a process as part of a file's name."""
    return process.replace("/", ".")


def write_whole(path: Path, content: str | bytes) -> None:
    """Replace a file atomically: a reader sees the old content or the new, and a full disk leaves
    the old.
    """
    part = path.with_name(path.name + ".part")
    try:
        part.write_bytes(content if isinstance(content, bytes) else content.encode())
        os.replace(part, path)
    except OSError:
        part.unlink(missing_ok=True)
        raise


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object; empty if the file is not there yet, FormatError if it holds another thing."""
    try:
        content = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise FormatError(f"{path} is damaged: {error}") from None
    if not isinstance(content, dict):
        raise FormatError(f"{path} is damaged: this is not an object")
    return content


def wait_until(done: Callable[[], bool], *, limit_s: float, step_s: float = 0.02) -> bool:
    """Wait for a condition for at most `limit_s`; whether it came true."""
    end = time.monotonic() + limit_s
    while not done():
        left_s = end - time.monotonic()
        if left_s <= 0:
            return False
        time.sleep(min(step_s, left_s))
    return True


def wait_for_an_end(pids: Iterable[int], *, limit_s: float) -> None:
    """Return when one of these processes has ended, or after `limit_s`. Uses no CPU meanwhile."""
    poller = select.poll()
    with contextlib.ExitStack() as stack:
        for pid in pids:
            try:
                descriptor = os.pidfd_open(pid)
            except ProcessLookupError:
                return
            stack.callback(os.close, descriptor)
            poller.register(descriptor, select.POLLIN)
        whole_ms = int(limit_s * 1000)
        if not poller.poll(whole_ms):
            # poll() counts in milliseconds; a fault must come on time.
            time.sleep(max(0.0, limit_s - whole_ms / 1000))
