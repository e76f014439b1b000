"""Faults of clocks, disks and files in whole runs: what Kafka and Spark make of them."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from streambed import Run
from streambed.record.event_log import read_events
from streambed.record.events import ClusterState, Heal, Inject, InjectFailed, ProcessEnded
from tests.support.running import only_run, streambed

pytestmark = [pytest.mark.system, pytest.mark.together(70)]

DISKS = """
version: 1
name: disks
duration: 14s
ready: 4min
drain: 3min
topology:
  switches: [core]
  links:
    - {ends: [edge, core], delay: 1ms}
    - {ends: [b1, core]}
    - {ends: [b2, core]}
components:
  kafka:
    kind: kafka
    nodes: [b1, b2]
    controllers: [b1]
    topics:
      lines: {replicas: 2, leaders: [b2]}
      synced: {replicas: 2, leaders: [b1], config: {flush.messages: 1}}
    settings: {broker.session.timeout.ms: 2000, broker.heartbeat.interval.ms: 500}
  poet: {kind: producer, node: edge, writes: lines, rate: 100/s, acks: all}
  scribe: {kind: producer, node: edge, writes: synced, rate: 100/s, acks: all}
  reader: {kind: consumer, node: edge, reads: [lines, synced]}
  clock: {kind: command, node: edge, argv: [PYTHON, clock.py]}
faults:
  - {kind: skew_clock, at: 1s, lasts: 3s, target: clock, ahead: 24h}
  - {kind: fill_disk, at: 1s, lasts: 3s, target: kafka/b2, size: 64MiB}
  - {kind: power_failure, at: 10s, lasts: 500ms, target: kafka}
checks:
  - {kind: no_loss, topic: lines}
  - {kind: no_loss, topic: synced}
"""
REWIND = """
version: 1
name: rewind
duration: 14s
ready: 4min
drain: 3min
topology:
  links:
    - {ends: [edge, broker], delay: 1ms}
components:
  kafka: {kind: kafka, nodes: [broker], topics: {lines: {}, shouts: {}}}
  poet: {kind: producer, node: edge, writes: lines, rate: 50/s}
  shout:
    kind: spark_job
    node: edge
    job: shout.py
    reads: lines
    writes: shouts
    args: ["{kafka.bootstrap}", "{self.checkpoint}"]
  reader: {kind: consumer, node: edge, reads: shouts}
faults:
  - {kind: rewind_checkpoint, at: 6s, lasts: 100ms, target: shout}
checks:
  - {kind: no_loss, topic: lines}
"""
CLOCK = """
import time

while True:
    print(int(time.time()), flush=True)
    time.sleep(0.1)
"""
SHOUT = """
import sys

from pyspark.sql import SparkSession, functions

bootstrap, checkpoint = sys.argv[1:]
spark = SparkSession.builder.getOrCreate()
lines = (
    spark.readStream.format("kafka")
    .option("kafka.bootstrap.servers", bootstrap)
    .option("subscribe", "lines")
    .option("startingOffsets", "earliest")
    .load()
)
shouts = lines.select(functions.upper(functions.col("value").cast("string")).alias("value"))
query = (
    shouts.writeStream.format("kafka")
    .option("kafka.bootstrap.servers", bootstrap)
    .option("topic", "shouts")
    .option("checkpointLocation", checkpoint)
    .trigger(processingTime="500 milliseconds")
    .start()
)
query.awaitTermination()
"""


def run_of(folder: Path, experiment: str) -> Path:
    """The folder of a run in which all faults were injected and healed."""
    (folder / "shout.py").write_text(SHOUT)
    (folder / "clock.py").write_text(CLOCK)
    (folder / "experiment.yaml").write_text(experiment.replace("PYTHON", sys.executable))
    done = streambed("run", "experiment.yaml", "--json", "--no-report", cwd=folder)
    run = only_run(folder / "runs")
    assert run and done.returncode in (0, 1), done.stdout + done.stderr
    assert of(run, InjectFailed) == []
    assert len(of(run, Heal)) == len(of(run, Inject))
    return run


def of(run: Path, kind: type) -> list[Any]:
    return [event for event in read_events(run) if isinstance(event, kind)]


def test_kafka_halts_on_a_full_disk_and_loses_what_it_did_not_sync_in_a_power_failure(
    tmp_path: Path,
) -> None:
    run = run_of(tmp_path, DISKS)

    seconds = [int(line) for line in (run / "logs" / "clock.log").read_text().split()]
    jumps = [after - before for before, after in itertools.pairwise(seconds)]
    day_s = 24 * 3600
    assert [round(jump / day_s) for jump in jumps if abs(jump) > day_s / 2] == [1, -1]

    full, *_ = [event for event in of(run, ProcessEnded) if event.process == "kafka/b2"]
    assert (full.status, full.expected) == (1, True)
    log = (run / "logs" / "kafka.b2.log").read_text()
    assert "No space left on device" in log

    failure = of(run, Inject)[-1]
    sent = Run(run).sent()
    early = sent.filter(pl.col("acked") < failure.time - 10**9)
    ends = {one.topic: one.end for one in of(run, ClusterState)[-1].partitions}
    total = {topic: sent.filter(pl.col("topic") == topic).height for topic in ends}
    assert ends["synced"] >= total["synced"]
    lost = total["lines"] - ends["lines"]
    assert lost >= early.filter(pl.col("topic") == "lines").height * 0.9


def test_a_rewound_checkpoint_lets_spark_write_its_last_batch_twice(tmp_path: Path) -> None:
    run = run_of(tmp_path, REWIND)

    (rewound,) = of(run, Inject)
    assert rewound.target.startswith("shout: batch ")
    (state,) = of(run, ClusterState)[-1:]
    ends = {one.topic: one.end for one in state.partitions}
    assert ends["shouts"] > ends["lines"]
