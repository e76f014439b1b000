"""Which batch wrote an output: by where the output topics ended when each batch was committed.

    offset   0      40      57      90
    ends            │6      │7      │8 exact
                            ●
An output of a batch lies before the ends asked after its commit. So the output at 60 is of a batch
after 7. No output of a later batch lies before ends that are exact, so it is of batch 8 at most.
Where ends are not exact, or several queries of a job write at once, an output has several
candidates.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from streambed.record.events import BatchCommitted, BatchPlanned
from streambed.record.history import History

POSITION = ["topic", "partition", "offset"]
BatchNumbers = Mapping[tuple[str, int], int]
"""The number of a batch in a table of batches, by query id and the engine's number."""
NOWHERE = -(1 << 40)
"""Stands for a batch that is in no table."""


@dataclass(frozen=True)
class _Commit:
    batch: int
    began: int
    """When it was planned: no output of it was seen before."""
    event: BatchCommitted


def candidates(
    history: History, job: str, numbers: BatchNumbers, outputs: pl.DataFrame
) -> pl.DataFrame | None:
    """The outputs (topic, partition, offset, seen), each once with every batch it may be of.

    `sure` says that it has one candidate. None if no commit has the ends of the topics.
    """
    queries = _commits_of(history, job, numbers)
    if not any(commit.event.ends for commits in queries.values() for commit in commits):
        return None
    parts = [outputs.clear().with_columns(batch=pl.lit(None, pl.Int64))]
    for (topic, partition), rows in outputs.group_by("topic", "partition"):
        for commits in queries.values():
            parts.append(_candidates_of(str(topic), int(str(partition)), rows, commits))
    found = pl.concat(parts)
    times = pl.len().over(*POSITION, "seen")
    return found.select(*POSITION, "seen", "batch", sure=times == 1)


def _commits_of(history: History, job: str, numbers: BatchNumbers) -> dict[str, list[_Commit]]:
    """The commits of each query, in order."""
    planned = {
        (event.query_id, event.batch): event.written
        for event in history.of(BatchPlanned)
        if event.component == job
    }
    queries: dict[str, list[_Commit]] = defaultdict(list)
    for event in history.of(BatchCommitted):
        key = (event.query_id, event.batch)
        if event.component == job:
            number = numbers.get(key, NOWHERE)
            commit = _Commit(number, planned.get(key, event.written), event)
            queries[event.query_id].append(commit)
    return queries


def _candidates_of(
    topic: str, partition: int, outputs: pl.DataFrame, commits: list[_Commit]
) -> pl.DataFrame:
    """Each output of a partition with the batches of one query that may have written it."""
    ends = [commit.event.ends.get(topic, {}).get(partition, -1) for commit in commits]
    rising = np.maximum.accumulate(np.array(ends, np.int64))
    first = np.searchsorted(rising, outputs["offset"].to_numpy(), side="right")
    last = np.maximum(_last_candidates(outputs, commits, first), first)
    counts = np.where(first < len(commits), last - first + 1, 0)
    rows = np.repeat(np.arange(outputs.height), counts)
    # The candidates of an output are consecutive commits: `nth` counts them from 0.
    nth = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    batches = np.array([commit.batch for commit in commits], np.int64)
    return outputs[rows].with_columns(batch=pl.Series(batches[first[rows] + nth]))


def _last_candidates(
    outputs: pl.DataFrame, commits: list[_Commit], first: np.ndarray
) -> np.ndarray:
    """The last commit that may have written each output, by exact ends and by when it was seen."""
    exact = np.array([commit.event.exact for commit in commits], bool)
    next_exact = _next_exact(exact)[np.minimum(first, len(commits) - 1)]
    began = np.array([commit.began for commit in commits], np.int64)
    begun = np.searchsorted(began, outputs["seen"].to_numpy(), side="right") - 1
    last: np.ndarray = np.minimum(next_exact, begun)
    return last


def _next_exact(exact: np.ndarray) -> np.ndarray:
    """For each commit the first one from it on whose ends are exact; the last one if none is."""
    positions = np.where(exact, np.arange(len(exact)), len(exact) - 1)
    return np.minimum.accumulate(positions[::-1])[::-1]
