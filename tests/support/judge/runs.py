"""A story as the history of a whole run."""

from __future__ import annotations

from typing import Any

from streambed.kinds.declared_parts import components_of
from streambed.record.events import ClusterState, Drained, Event, PartitionState, Phase
from streambed.record.history import History
from tests.support.judge.stories import TOPIC, Story

COMPONENTS: dict[str, Any] = {
    "kafka": {
        "kind": "kafka",
        "nodes": ["a", "b"],
        "topics": {TOPIC: {"replicas": 2, "config": {"min.insync.replicas": 2}}},
    },
    "a": {"kind": "producer", "node": "a", "writes": TOPIC},
    "reader": {"kind": "consumer", "node": "b", "reads": [TOPIC]},
}


def run_of(story: Story, *events: Event, start: int | None = 0, **changes: Any) -> History:
    """A history of a run that drained; the log of partition 0 begins at `start`."""
    state = PartitionState(
        topic=TOPIC, partition=0, leader="a", replicas=("a", "b"), in_sync=("a", "b"), start=start
    )
    declaration = {"components": COMPONENTS | changes}
    return History(
        events=(
            Phase(time=0, phase="load"),
            *events,
            Phase(time=1000, phase="drain"),
            ClusterState(time=1001, component="kafka", partitions=(state,)),
            Drained(time=1002),
        ),
        ledger=story.ledger(),
        declaration=declaration,
        components=components_of(declaration),
    )
