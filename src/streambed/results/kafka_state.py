"""Kafka clusters of a run as tables: partitions with their replicas, and consumer groups.

For a running run they hold what is recorded so far.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import polars as pl

from streambed.record.events import ClusterState, InSyncChanged, LeaderChanged
from streambed.record.history import History

PARTITIONS: dict[str, Any] = {
    "cluster": pl.String,
    "partition": pl.String,
    "leader": pl.String,
    "replicas": pl.List(pl.String),
    "in_sync": pl.List(pl.String),
    "first_leader": pl.String,
    "leader_changes": pl.Int64,
    "in_sync_changes": pl.Int64,
    "records": pl.Int64,
}
GROUPS = {
    "cluster": pl.String,
    "group": pl.String,
    "partition": pl.String,
    "member": pl.String,
    "committed": pl.Int64,
    "end": pl.Int64,
    "lag": pl.Int64,
}


def last_states(history: History) -> list[ClusterState]:
    """The newest state of each cluster, with the changes of leaders and replicas since."""
    newest = {state.component: state for state in history.of(ClusterState)}
    for change in history.of(LeaderChanged):
        _apply(newest, change, leader=change.now)
    for synced in history.of(InSyncChanged):
        _apply(newest, synced, in_sync=synced.now)
    return list(newest.values())


def _apply(
    states: dict[str, ClusterState], change: LeaderChanged | InSyncChanged, **fields: Any
) -> None:
    """Change one partition of its cluster's state, if that is older."""
    state = states.get(change.component)
    if state is None or state.time > change.time:
        return
    partitions = []
    for part in state.partitions:
        if (part.topic, part.partition) == (change.topic, change.partition):
            part = replace(part, **fields)
        partitions.append(part)
    states[change.component] = replace(state, partitions=tuple(partitions))


def partition_table(history: History) -> pl.DataFrame:
    """Every partition at the end: its leader, replicas in sync, and how often they changed."""
    first = _first_leaders(history)
    leader_changes = _changes(event for event in history.of(LeaderChanged) if event.was)
    in_sync_changes = _changes(history.of(InSyncChanged))
    rows = []
    for state in last_states(history):
        for part in state.partitions:
            key = (state.component, part.topic, part.partition)
            row = {
                "cluster": state.component,
                "partition": f"{part.topic}/{part.partition}",
                "leader": part.leader or "nobody",
                "replicas": list(part.replicas),
                "in_sync": list(part.in_sync),
                "first_leader": first[key],
                "leader_changes": leader_changes[key],
                "in_sync_changes": in_sync_changes[key],
                "records": part.end,
            }
            rows.append(row)
    return pl.DataFrame(rows, schema=PARTITIONS)


def _first_leaders(history: History) -> dict[tuple[str, str, int], str]:
    """The first recorded leader of each partition, by cluster, topic and partition."""
    leaders: dict[tuple[str, str, int], str] = {}
    for state in history.of(ClusterState):
        for part in state.partitions:
            leaders.setdefault((state.component, part.topic, part.partition), part.leader)
    return leaders


def _changes(
    events: Iterable[LeaderChanged] | Iterable[InSyncChanged],
) -> Counter[tuple[str, str, int]]:
    """How many of these changes each partition had."""
    return Counter((event.component, event.topic, event.partition) for event in events)


def group_table(history: History) -> pl.DataFrame:
    """Every consumer group at the end: its member on each partition, and its lag."""
    table = []
    for state in last_states(history):
        ends = {(part.topic, part.partition): part.end for part in state.partitions}
        for group in state.groups:
            end = ends.get((group.topic, group.partition))
            known = end is not None and group.committed is not None
            table.append(
                {
                    "cluster": state.component,
                    "group": group.group,
                    "partition": f"{group.topic}/{group.partition}",
                    "member": group.member or "nobody",
                    "committed": group.committed,
                    "end": end,
                    "lag": (end or 0) - (group.committed or 0) if known else None,
                }
            )
    return pl.DataFrame(table, schema=GROUPS)


def readable(table: pl.DataFrame) -> pl.DataFrame:
    """The table with lists as text and plain headings; a single cluster is not named."""
    lists = [
        pl.col(name).list.join(", ")
        for name, kind in table.schema.items()
        if isinstance(kind, pl.List)
    ]
    shown = table.with_columns(*lists)
    if shown["cluster"].n_unique() == 1:
        shown = shown.drop("cluster")
    return shown.rename({column: column.replace("_", " ") for column in shown.columns})
