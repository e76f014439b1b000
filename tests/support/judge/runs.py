"""A story as the history of a whole run."""

from __future__ import annotations

from typing import Any

from streambed.kinds.declared_parts import components_of
from streambed.record.events import ClusterState, Drained, Event, PartitionState, Phase
from streambed.record.history import History, Verdict, empty
from streambed.record.ledger.broker_files import BrokerFiles
from streambed.record.ledger.schemas import BROKER_TABLES
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


BROKER_FILES = BrokerFiles(**{name: empty(schema) for name, schema in BROKER_TABLES.items()})


def run_of(story: Story, *events: Event, start: int | None = 0, **changes: Any) -> History:
    """A history of a run that drained; both logs begin at `start`. None leaves a component out."""
    partitions = tuple(
        PartitionState(
            topic=TOPIC,
            partition=number,
            leader="a",
            replicas=("a", "b"),
            in_sync=("a", "b"),
            start=start,
            end=100,
            stable=100,
        )
        for number in range(2)
    )
    components = COMPONENTS | changes
    declared = {name: component for name, component in components.items() if component}
    declaration = {"components": declared}
    return History(
        events=(
            Phase(time=0, phase="load"),
            *events,
            Phase(time=1000, phase="drain"),
            ClusterState(time=1001, component="kafka", partitions=partitions),
            Drained(time=1002),
        ),
        ledger=story.ledger(),
        broker_files=BROKER_FILES,
        declaration=declaration,
        components=components_of(declaration),
    )


def small_story(count: int, *, lost: tuple[int, ...] = ()) -> Story:
    """A reader that sees everything that the log holds; `lost` records are not in it."""
    story = Story().life("a", 1, 0)
    for number in range(count):
        story.send(f"a={number}", number)
    there = [(f"a={number}", number) for number in range(count) if number not in lost]
    return story.assign().poll(*there).log(*there)


def row(verdict: Verdict, number: str) -> dict[str, Any]:
    """The row of an anomaly in a verdict of `log`."""
    return next(found for found in verdict.evidence["rows"] if found["anomaly"] == number)
