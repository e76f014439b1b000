"""What Spark itself says of its streaming queries, read from its event log while it is being
written.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

from streambed.record import now_ns
from streambed.record.events import Batch
from streambed.record.gauges import Positions

STREAMING = '{"Event":"org.apache.spark.sql.streaming.StreamingQueryListener$Query'
JOB_START = '{"Event":"SparkListenerJobStart"'
QUERY = re.compile(r'"sql\.streaming\.queryId":"([^"]+)"')
Offsets = dict[str, dict[int, tuple[int | None, int]]]


class SparkLog:
    """Follows every event log in a folder: a job that was killed and started again writes a second
    one.
    """

    def __init__(self, job: str, folder: Path, renew: Callable[[], None] | None = None) -> None:
        """`renew` brings the logs into the folder, if they are written elsewhere."""
        self._job = job
        self._folder = folder
        self._wall_minus_monotonic_ns = time.time_ns() - now_ns()
        self._renew = renew
        self._read_to: dict[str, int] = {}
        self._reported: dict[str, bool] = {}
        self._batches: list[Batch] = []
        self._positions: dict[str, dict[tuple[str, int], int]] = {}
        """By query: several of a job may read one topic."""
        self._lock = threading.Lock()

    def missing(self) -> str:
        """What is still missing until every query has looked for input."""
        with self._lock:
            self._follow()
            if not self._reported:
                return "no streaming query has been started yet"
            waiting = [query for query, reported in self._reported.items() if not reported]
            return (
                f"{len(waiting)} of {len(self._reported)} queries have not looked for input yet"
                if waiting
                else ""
            )

    def take_batches(self) -> list[Batch]:
        """The batches that ended since the last call."""
        with self._lock:
            self._follow()
            batches, self._batches = self._batches, []
            return batches

    def positions(self) -> Positions:
        """How far its finished batches have come in each partition of each topic that it reads; of
        several queries, the slowest.
        """
        with self._lock:
            self._follow()
            slowest: Positions = {}
            for (topic, part), end in (
                place for places in self._positions.values() for place in places.items()
            ):
                parts = slowest.setdefault(topic, {})
                parts[int(part)] = min(end, parts.get(int(part), end))
            return slowest

    def _follow(self) -> None:
        if self._renew:
            self._renew()
        for path in sorted(self._folder.glob("*")):
            name = path.name.removesuffix(
                ".inprogress"
            )  # Spark renames the file when the job ends.
            with path.open("rb") as file:
                file.seek(self._read_to.get(name, 0))
                whole, newline, _ = file.read().rpartition(b"\n")
            self._read_to[name] = self._read_to.get(name, 0) + len(whole) + len(newline)
            for line in whole.decode().split("\n"):
                if line.startswith(STREAMING):
                    self._take(json.loads(line))
                elif line.startswith(JOB_START) and (query := QUERY.search(line)):
                    self._reported[query[1]] = (
                        # Its first batch runs, so it has looked: it knows its starting offsets.
                        True
                    )

    def _take(self, event: dict[str, Any]) -> None:
        kind = event["Event"].rpartition("$")[2]
        if kind == "QueryStartedEvent":
            self._reported.setdefault(event["id"], False)
        elif kind == "QueryIdleEvent":
            self._reported[event["id"]] = True
        elif kind == "QueryTerminatedEvent":
            self._reported.pop(event["id"], None)
        elif kind == "QueryProgressEvent":
            progress = event["progress"]
            self._reported[progress["id"]] = True
            batch = batch_of(progress, self._job, self._wall_minus_monotonic_ns)
            self._batches.append(batch)
            ends = {
                (topic, part): end
                for topic, parts in batch.offsets.items()
                for part, (_, end) in parts.items()
            }
            self._positions.setdefault(progress["id"], {}).update(ends)


def batch_of(progress: dict[str, Any], job: str, wall_minus_monotonic_ns: int) -> Batch:
    """One micro-batch out of Spark's progress report, whose times are by the wall clock."""
    wall_ns = round(datetime.fromisoformat(progress["timestamp"]).timestamp() * 1e3) * 1_000_000
    start = wall_ns - wall_minus_monotonic_ns
    durations = progress.get("durationMs", {})
    offsets: Offsets = {}
    for source in progress["sources"]:
        merge(
            offsets,
            before=_offsets(source.get("startOffset")),
            after=_offsets(source.get("endOffset")),
        )
    return Batch(
        component=job,
        query=progress.get("name") or progress["id"],
        batch=progress["batchId"],
        start=start,
        end=start + durations.get("triggerExecution", 0) * 1_000_000,
        rows=sum(source.get("numInputRows", 0) for source in progress["sources"]),
        output_rows=progress.get("sink", {}).get("numOutputRows", -1),
        durations_ms=durations,
        offsets=offsets,
    )


def merge(
    offsets: Offsets, *, before: dict[str, dict[str, int]], after: dict[str, dict[str, int]]
) -> None:
    """Add a source's ranges; a partition without a start began at its beginning."""
    for topic, parts in after.items():
        for part, end in parts.items():
            offsets.setdefault(topic, {})[int(part)] = (before.get(topic, {}).get(part, 0), end)


def _offsets(found: Any) -> dict[str, dict[str, int]]:
    """Kafka's offsets by topic; other sources have none."""
    parsed = json.loads(found) if isinstance(found, str) and found.startswith("{") else found
    if not isinstance(parsed, dict) or not all(
        isinstance(parts, dict) for parts in parsed.values()
    ):
        return {}
    return parsed
