"""The files of a log of batches: `offsets/N` before batch N of a query, `commits/N` after it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from streambed.record import now_ns

PLANNED, COMMITTED = "offsets", "commits"


def query_folders(checkpoint: Path) -> Iterator[Path]:
    """The checkpoints of queries: the folder itself, or folders in it."""
    for folder in (checkpoint, *checkpoint.glob("*")):
        if (folder / PLANNED).is_dir():
            yield folder


def written_ns(file: Path) -> int:
    """When a file got its name, by the monotonic clock: it is written first, then renamed."""
    age_ns = time.time_ns() - file.stat().st_ctime_ns
    return now_ns() - max(0, age_ns)
