"""The Kafka overview: what the last recorded state and the changes since say."""

from __future__ import annotations

import json

from typer.testing import CliRunner

from streambed.cli.app import app
from streambed.record.event_log import append_event
from streambed.record.events import ClusterState, GroupState, PartitionState
from streambed.reports.figure import Absent, Figure
from streambed.reports.figures import kafka_overview
from streambed.results.kafka_state import group_table, partition_table
from tests.support import synthetic
from tests.support.histories import event, history_of

PLACE = {"component": "kafka", "topic": "lines", "partition": 0}


def state(at: float, leader: str, in_sync: list[str], *, end: int, committed: int | None = None):
    part = {
        "topic": "lines",
        "partition": 0,
        "leader": leader,
        "replicas": ["b1", "b2"],
        "in_sync": in_sync,
        "end": end,
    }
    group = {
        "group": "readers",
        "topic": "lines",
        "partition": 0,
        "member": "rdkafka on edge",
        "committed": committed,
    }
    return event(at, "cluster_state", component="kafka", partitions=[part], groups=[group])


KILLED = history_of(
    state(5, "b1", ["b1", "b2"], end=0),
    event(5.5, "leader_changed", **PLACE, was="", now="b1"),
    event(10, "leader_changed", **PLACE, was="b1", now="b2"),
    event(11, "in_sync_changed", **PLACE, was=["b1", "b2"], now=["b2"]),
)


def test_changes_since_the_last_state_count():
    """So that a run that is going on shows its present leaders."""
    [row] = partition_table(KILLED).to_dicts()

    assert row["partition"] == "lines/0"
    assert (row["first_leader"], row["leader"]) == ("b1", "b2")
    assert (row["replicas"], row["in_sync"]) == (["b1", "b2"], ["b2"])
    assert (row["leader_changes"], row["in_sync_changes"]) == (1, 1)


def test_a_newer_state_wins_over_older_changes():
    ended = history_of(*KILLED.events, state(20, "b2", ["b1", "b2"], end=300, committed=290))

    [row] = partition_table(ended).to_dicts()
    assert (row["in_sync"], row["records"]) == (["b1", "b2"], 300)


def test_the_lag_of_a_group_is_what_follows_its_committed_offset():
    [row] = group_table(history_of(state(20, "b2", ["b2"], end=300, committed=290))).to_dicts()

    assert (row["group"], row["member"], row["lag"]) == ("readers", "rdkafka on edge", 10)


def test_a_group_that_committed_nothing_has_no_known_lag():
    [row] = group_table(history_of(state(20, "b2", ["b2"], end=300))).to_dicts()

    assert row["lag"] is None


def test_the_page_says_what_lacks_a_replica_and_what_moved():
    figure = kafka_overview.partitions(KILLED)

    assert isinstance(figure, Figure)
    assert (
        "1 partition: 0 without a leader, 1 without all replicas in sync, 1 led by another broker"
    ) in figure.caption
    roles = {row["broker"]: row["role"] for row in figure.spec("")["data"]["values"]}
    assert roles == {"b1": "not in sync", "b2": "leader"}


def test_a_run_without_kafka_says_that_nothing_was_recorded():
    assert isinstance(kafka_overview.partitions(history_of()), Absent)
    assert isinstance(kafka_overview.groups(history_of()), Absent)


def test_the_command_shows_the_same(tmp_path):
    run = tmp_path / "words" / "one"
    synthetic.write_run(run, load_s=5)
    part = PartitionState(
        topic="lines", partition=1, leader="", replicas=("b1",), in_sync=(), end=7
    )
    group = GroupState(group="readers", topic="lines", partition=1, committed=4)
    append_event(run, ClusterState(component="kafka", partitions=(part,), groups=(group,)))

    result = CliRunner().invoke(app, ["topics", "words", "--into", str(tmp_path)])
    as_json = CliRunner().invoke(app, ["topics", "words", "--into", str(tmp_path), "--json"])

    assert result.exit_code == 0, result.output
    assert "lines/1    nobody  b1" in result.output
    assert "readers  lines/1    nobody          4    7    3" in result.output
    assert json.loads(as_json.output)["groups"][0]["lag"] == 3
