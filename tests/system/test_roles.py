"""Faults hit the process that holds a role, as the cluster says; with acks from two of three
replicas nothing acknowledged is lost.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import polars as pl
import pytest

from streambed import Run
from tests.support.running import only_run, streambed

pytestmark = pytest.mark.system

EXPERIMENT = """
version: 1
name: roles
duration: 15s
topology:
  switches: [core]
  links:
    - {{ends: [edge, core], delay: 2ms}}
    - {{ends: [b1, core]}}
    - {{ends: [b2, core]}}
    - {{ends: [b3, core]}}
    - {{ends: [c1, core]}}
components:
  kafka:
    kind: kafka
    nodes: [b1, b2, b3]
    controllers: [b1, b3, c1]
    racks: {{b1: east, b2: west, b3: west}}
    settings_of: {{c1: {{controller.quorum.request.timeout.ms: 1500}}}}
    topics: {{lines: {{replicas: 3, leaders: [b2], config: {{min.insync.replicas: 2}}}}}}
    settings:
      broker.session.timeout.ms: 2000
      broker.heartbeat.interval.ms: 500
      controller.quorum.fetch.timeout.ms: 1000
      controller.quorum.election.timeout.ms: 500
  poet: {{kind: producer, node: edge, writes: lines, rate: 200/s, acks: all}}
  reader: {{kind: consumer, node: edge, reads: lines}}
  asker: {{kind: command, node: edge, argv: [{python}, {asker}], on_exit: record}}
faults:
  - {{kind: kill, at: 1s, lasts: 4s, target: leader of lines/0}}
  - {{kind: isolate, at: 6s, lasts: 8s, target: leader of lines}}
  - {{kind: pause, at: 13s, lasts: 500ms, target: leader of lines/0}}
  - {{kind: pause, at: 14s, lasts: 100ms, target: controller}}
checks:
  - {{kind: no_loss, topic: lines}}
"""
ASKER = """
import os, time
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

while True:  # A new client each time: one that lost its broker waits long before it tries another.
    client = AdminClient({"bootstrap.servers": os.environ["STREAMBED_BOOTSTRAP"], "log_level": 0})
    try:
        leader = client.list_topics("lines", timeout=0.5).topics["lines"].partitions[0].leader
        print(time.monotonic_ns(), f"b{leader}", flush=True)
    except KafkaException:
        pass
    time.sleep(0.05)
"""


def leader_before(log: Path, time_ns: int) -> str:
    """The last leader that a client on another host saw."""
    said = [line.split() for line in log.read_text().splitlines()]
    return [leader for when, leader in said if int(when) < time_ns][-1]


def test_the_leader_is_killed_and_isolated_wherever_it_is_and_nothing_acked_is_lost(
    tmp_path: Path,
) -> None:
    (tmp_path / "asker.py").write_text(ASKER)
    (tmp_path / "experiment.yaml").write_text(
        EXPERIMENT.format(python=sys.executable, asker=tmp_path / "asker.py")
    )

    done = streambed("run", "experiment.yaml", "--json", "--no-report", cwd=tmp_path)

    assert done.returncode == 0, done.stdout + done.stderr
    run = only_run(tmp_path / "runs")
    assert run
    events = [
        json.loads(line) for line in (run / "history" / "events.jsonl").read_text().splitlines()
    ]
    killed, isolated, paused, controller = (event for event in events if event["event"] == "inject")
    assert killed["target"] == "kafka/b2 (leader of lines/0)"
    assert (
        isolated["target"]
        == f"{leader_before(run / 'logs' / 'asker.log', isolated['time'])} (leader of lines)"
    )
    assert (
        paused["target"]
        == f"kafka/{leader_before(run / 'logs' / 'asker.log', paused['time'])} (leader of lines/0)"
    )
    assert paused["target"].split()[0] != f"kafka/{isolated['target'].split()[0]}", (
        "a broker that was cut off is believed"
    )
    assert controller["target"].split()[0] in ("kafka/b1", "kafka/b3", "kafka/c1")
    changed = [event for event in events if event["event"] == "leader_changed"]
    assert (changed[0]["now"], changed[1]["was"]) == ("b2", "b2"), "the first leader was killed"
    assert [
        event
        for event in events
        if event["event"] == "in_sync_changed" and "b2" in event["was"] and "b2" not in event["now"]
    ]
    led = (
        Run(run)
        .samples()
        .filter(pl.col("metric") == "leads_partitions")
        .group_by("time")
        .agg(pl.col("value").sum())["value"]
    )
    assert led.max() == 1
    assert len([event for event in events if event["event"] == "heal"]) == 4
    (timers,) = [event["timers"] for event in events if event["event"] == "timers"]
    assert {
        "of": "kafka",
        "name": "broker.session.timeout.ms",
        "value": 2000,
        "declared": True,
    } in timers
