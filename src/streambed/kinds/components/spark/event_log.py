"""What Spark itself says of its streaming queries, read from its event log while it is being
written.
"""

from __future__ import annotations

import json
import math
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
TrueTime = Callable[[int], int]
"""The true wall clock, given the one that a process saw."""
Offsets = dict[str, dict[int, tuple[int | None, int]]]


class SparkLog:
    """Follows every event log in a folder: a job that was killed and started again writes a second
    one.
    """

    def __init__(
        self,
        job: str,
        folder: Path,
        renew: Callable[[], None] | None = None,
        true_ns: TrueTime = lambda shown_ns: shown_ns,
    ) -> None:
        """`renew` brings the logs into the folder, if they are written elsewhere.

        `true_ns` corrects the times of a driver whose clock is skewed.
        """
        self._job = job
        self._folder = folder
        self._wall_minus_monotonic_ns = time.time_ns() - now_ns()
        self._renew = renew
        self._true_ns = true_ns
        self._read_to: dict[str, int] = {}
        self._reported: dict[str, bool] = {}
        self._batches: list[Batch] = []
        self._positions: dict[str, dict[tuple[str, int], int]] = {}
        """By query: several of a job may read one topic."""
        self._first_log: dict[str, str] = {}
        self._last_log: dict[str, str] = {}
        """By query: the event logs, one of each life of the driver, that name it first and last."""
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
                    self._take(json.loads(line), name)
                elif line.startswith(JOB_START) and (query := QUERY.search(line)):
                    self._reported[query[1]] = (
                        # Its first batch runs, so it has looked: it knows its starting offsets.
                        True
                    )

    def _take(self, event: dict[str, Any], log: str) -> None:
        kind = event["Event"].rpartition("$")[2]
        if kind == "QueryStartedEvent":
            self._reported.setdefault(event["id"], False)
        elif kind == "QueryIdleEvent":
            self._reported[event["id"]] = True
        elif kind == "QueryTerminatedEvent":
            self._reported.pop(event["id"], None)
        elif kind == "QueryProgressEvent":
            progress = event["progress"]
            self._forget_lost_queries(progress["id"], log)
            self._reported[progress["id"]] = True
            batch = batch_of(progress, self._job, self._wall_minus_monotonic_ns, self._true_ns)
            self._batches.append(batch)
            ends = {
                (topic, part): end
                for topic, parts in batch.offsets.items()
                for part, (_, end) in parts.items()
            }
            self._positions.setdefault(progress["id"], {}).update(ends)

    def _forget_lost_queries(self, query: str, log: str) -> None:
        """A driver whose checkpoint was lost begins again with other queries."""
        first = self._first_log.setdefault(query, log)
        self._last_log[query] = log
        if first != log:
            return
        for other in [other for other, last in self._last_log.items() if last != log]:
            self._positions.pop(other, None)
            self._reported.pop(other, None)
            del self._last_log[other]


def batch_of(
    progress: dict[str, Any],
    job: str,
    wall_minus_monotonic_ns: int,
    true_ns: TrueTime = lambda shown_ns: shown_ns,
) -> Batch:
    """One micro-batch out of Spark's progress report, whose times are by the driver's wall
    clock.
    """
    durations = progress.get("durationMs", {})
    start_wall_ns = _wall_ns(progress["timestamp"]) or 0
    end_wall_ns = start_wall_ns + durations.get("triggerExecution", 0) * 1_000_000
    offsets: Offsets = {}
    for source in progress["sources"]:
        merge(
            offsets,
            before=kafka_offsets(source.get("startOffset")),
            after=kafka_offsets(source.get("endOffset")),
        )
    return Batch(
        component=job,
        query=progress.get("name") or progress["id"],
        query_id=progress["id"],
        run=progress.get("runId", ""),
        batch=progress["batchId"],
        start=true_ns(start_wall_ns) - wall_minus_monotonic_ns,
        end=true_ns(end_wall_ns) - wall_minus_monotonic_ns,
        rows=sum(source.get("numInputRows", 0) for source in progress["sources"]),
        output_rows=progress.get("sink", {}).get("numOutputRows", -1),
        durations_ms=durations,
        offsets=offsets,
        input_per_s=_sum_of_sources(progress, "inputRowsPerSecond"),
        processed_per_s=_sum_of_sources(progress, "processedRowsPerSecond"),
        watermark_ns=_wall_ns(progress.get("eventTime", {}).get("watermark")),
        event_time_max_ns=_wall_ns(progress.get("eventTime", {}).get("max")),
        state_rows=_sum_of_operators(progress, "numRowsTotal"),
        late_rows=_sum_of_operators(progress, "numRowsDroppedByWatermark"),
    )


def _sum_of_sources(progress: dict[str, Any], name: str) -> float | None:
    """A rate of all sources together; None if one does not report it, as in a first batch."""
    rates = [source.get(name) for source in progress["sources"]]
    known = [float(rate) for rate in rates if rate is not None and math.isfinite(float(rate))]
    return sum(known) if rates and len(known) == len(rates) else None


def _sum_of_operators(progress: dict[str, Any], name: str) -> int | None:
    """A number of all stateful operators together; None if there is none."""
    operators = progress.get("stateOperators", [])
    return sum(one.get(name, 0) for one in operators) if operators else None


def _wall_ns(timestamp: str | None) -> int | None:
    if timestamp is None:
        return None
    return round(datetime.fromisoformat(timestamp).timestamp() * 1e3) * 1_000_000


def merge(
    offsets: Offsets, *, before: dict[str, dict[str, int]], after: dict[str, dict[str, int]]
) -> None:
    """Add a source's ranges; a partition without a start began at its beginning."""
    for topic, parts in after.items():
        for part, end in parts.items():
            offsets.setdefault(topic, {})[int(part)] = (before.get(topic, {}).get(part, 0), end)


def kafka_offsets(found: Any) -> dict[str, dict[str, int]]:
    """Kafka's offsets by topic; other sources have none."""
    parsed = json.loads(found) if isinstance(found, str) and found.startswith("{") else found
    if not isinstance(parsed, dict) or not all(
        isinstance(parts, dict) for parts in parsed.values()
    ):
        return {}
    return parsed
