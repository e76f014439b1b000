"""The gauge: how many packets passed, and how late they were released."""

from __future__ import annotations

import json
import os
import time

EVERY_S = 1.0
KEPT = 3
"""A once-a-second reader can miss one, so the last three are kept."""
LATE_NS = 1_000_000
"""A packet released later than this counts as late."""


class Gauge:
    """Counts of packets so far, and lateness since the last read."""

    def __init__(self) -> None:
        self.packets = 0
        self.dropped = 0
        self._count = self._sum_ns = self._max_ns = self._late = 0
        self._last: list[dict[str, int]] = []

    def add(self, late_ns: int, packets: int = 1) -> None:
        """Count packets that were released `late_ns` after they were due."""
        self.packets += packets
        self._count += packets
        self._sum_ns += late_ns * packets
        if late_ns > self._max_ns:
            self._max_ns = late_ns
        if late_ns > LATE_NS:
            self._late += packets

    def read(self) -> dict[str, int]:
        """The current values; lateness is reset."""
        count, sum_ns, max_ns, late = self._count, self._sum_ns, self._max_ns, self._late
        self._count = self._sum_ns = self._max_ns = self._late = 0
        mean_ns = sum_ns // count if count else 0
        return {
            "packets": self.packets,
            "dropped": self.dropped,
            "late_mean_ns": mean_ns,
            "late_max_ns": max_ns,
            "late_packets": late,
        }

    def keep(self, path: str) -> None:
        """Write it forever; runs in its own thread, because a disk may be slow."""
        while True:
            time.sleep(EVERY_S)
            self.write(path)

    def write(self, path: str) -> None:
        """Write the gauge and those before it."""
        self._last = [*self._last, {"written_ns": time.monotonic_ns(), **self.read()}][-KEPT:]
        with open(f"{path}.part", "w") as file:
            json.dump({"gauges": self._last}, file)
        os.replace(f"{path}.part", path)
