"""Where output topics end is asked when a batch is committed."""

from __future__ import annotations

from types import SimpleNamespace

from streambed.record.events import BatchCommitted, BatchPlanned
from streambed.runner.batch_watch import BatchWatcher


def planned(number: int) -> BatchPlanned:
    return BatchPlanned(component="shout", query_id="q", batch=number, written=0)


def committed(number: int) -> BatchCommitted:
    return BatchCommitted(component="shout", query_id="q", batch=number, written=0)


class FakeEngine:
    """Writes what it was given, a list at each look."""

    name, writes = "shout", ("loud",)

    def __init__(self, *looks):
        self.looks = list(looks)

    def batch_steps(self, world):
        return self.looks.pop(0) if self.looks else []


def recorded(*looks, ends):
    broker = SimpleNamespace(name="kafka", partitions={"loud": 1}, end_positions=lambda world: ends)
    events = []
    component = SimpleNamespace(as_broker=broker)
    world = SimpleNamespace(components={"kafka": component}, record=events.append)
    BatchWatcher(world, FakeEngine(*looks)).look()
    return events


def test_ends_are_exact_if_no_batch_was_planned_meanwhile():
    first, second = recorded([planned(0), committed(0)], ends={"loud": {0: 5}, "other": {0: 1}})

    assert isinstance(first, BatchPlanned)
    assert (second.ends, second.exact) == ({"loud": {0: 5}}, True)


def test_ends_are_not_exact_if_the_next_batch_was_planned_while_the_broker_answered():
    commit, plan = recorded([committed(0)], [planned(1)], ends={"loud": {0: 5}})

    assert (commit.ends, commit.exact) == ({"loud": {0: 5}}, False)
    assert isinstance(plan, BatchPlanned)


def test_a_partition_without_a_leader_has_no_end():
    (commit,) = recorded([committed(0)], ends={"loud": {0: None}})

    assert commit.ends == {}
