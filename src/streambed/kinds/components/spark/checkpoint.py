"""The log of batches in a checkpoint of Spark: `offsets/N` before batch N, `commits/N` after it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from streambed.kinds.components.batch_log import (
    COMMITTED,
    PLANNED,
    query_folders,
    written_ns,
)
from streambed.kinds.components.spark.event_log import kafka_offsets
from streambed.record import now_ns
from streambed.record.events.of_batches import (
    BatchCommitted,
    BatchPlanned,
    BatchStep,
    NextOffsets,
)

QUERIES_NS = 500_000_000
"""How often to look for new queries, and for batches that were taken back."""


@dataclass
class _Query:
    folder: Path
    id: str
    next: dict[str, int] = field(default_factory=lambda: {PLANNED: 0, COMMITTED: 0})
    """The number of the next entry of each kind."""


class CheckpointLog:
    """Follows the queries of one job."""

    def __init__(self, job: str, folder: Path) -> None:
        self._job = job
        self._folder = folder
        self._queries: dict[Path, _Query] = {}
        self._look_ns = 0

    def steps(self) -> list[BatchStep]:
        """What was written since the last call, in order."""
        if now_ns() >= self._look_ns:
            self._find_queries()
            self._look_ns = now_ns() + QUERIES_NS
        steps = [step for query in self._queries.values() for step in self._steps_of(query)]
        return sorted(steps, key=lambda step: (step.written, step.batch))

    def _find_queries(self) -> None:
        for folder in query_folders(self._folder):
            query_id = _id_of(folder)
            known = self._queries.get(folder)
            if known is None or known.id != query_id:
                known = self._queries[folder] = _Query(folder, query_id)
            for kind in (PLANNED, COMMITTED):
                # Entries before these are deleted in time, those after them by a fault.
                numbers = _numbers_in(folder / kind)
                if known.next[kind] - 1 not in numbers:
                    later = [number for number in numbers if number >= known.next[kind]]
                    known.next[kind] = min(later, default=max(numbers, default=-1) + 1)

    def _steps_of(self, query: _Query) -> Iterator[BatchStep]:
        for kind in (PLANNED, COMMITTED):
            while (entry := query.folder / kind / str(query.next[kind])).exists():
                step = self._step(query, kind, entry)
                if step is None:
                    break
                query.next[kind] += 1
                yield step

    def _step(self, query: _Query, kind: str, entry: Path) -> BatchStep | None:
        """One entry; None if it is gone again."""
        try:
            written = written_ns(entry)
            past = _planned_ends(entry.read_text()) if kind == PLANNED else {}
        except FileNotFoundError:
            return None
        batch = int(entry.name)
        if kind == COMMITTED:
            return BatchCommitted(
                component=self._job, query_id=query.id, batch=batch, written=written
            )
        return BatchPlanned(
            component=self._job, query_id=query.id, batch=batch, written=written, past=past
        )


def _id_of(folder: Path) -> str:
    """The id of a query; empty if Spark has not written it yet."""
    try:
        return str(json.loads((folder / "metadata").read_text())["id"])
    except (FileNotFoundError, json.JSONDecodeError, KeyError):
        return ""


def _numbers_in(folder: Path) -> set[int]:
    if not folder.is_dir():
        return set()
    return {int(path.name) for path in folder.iterdir() if path.name.isdigit()}


def _planned_ends(text: str) -> NextOffsets:
    """The end offsets of all sources: a version, a line about the query, a line for each source."""
    past: NextOffsets = {}
    for line in text.splitlines()[2:]:
        for topic, partitions in kafka_offsets(line).items():
            past.setdefault(topic, {}).update(
                (int(partition), end) for partition, end in partitions.items()
            )
    return past
