"""HDFS on the emulated network: a job keeps its checkpoint and its event log there, and resumes
from it after its driver was killed.
"""

from __future__ import annotations

import pytest

from streambed import Run
from streambed.record.events import Batch
from streambed.reports import page
from streambed.runner.spark_history import event_logs
from tests.support.running import streambed

pytestmark = [pytest.mark.system, pytest.mark.together(35)]
FILE = """
version: 1
name: kept
duration: 5s
topology:
  switches: [core]
  links:
    - {ends: [edge, core], delay: 2ms}
    - {ends: [engine, core], delay: 2ms}
    - {ends: [names, core], delay: 1ms}
    - {ends: [disk1, core], delay: 1ms}
    - {ends: [disk2, core], delay: 1ms}
components:
  kafka: {kind: kafka, nodes: [edge], topics: {lines: {}, loud: {}}}
  hdfs: {kind: hdfs, name_node: names, data_nodes: [disk1, disk2]}
  poet: {kind: producer, node: edge, writes: lines, size: 100B, rate: 50/s}
  shout: {kind: spark_job, node: engine, job: job.py, reads: lines, writes: loud,
          memory: 512MiB, checkpoint: hdfs, event_log: hdfs, on_exit: restart,
          args: ["{kafka.bootstrap}", "{self.checkpoint}"]}
  reader: {kind: consumer, node: edge, reads: loud, keep: true}
faults:
  - {kind: kill, at: 2s, lasts: 1s, target: shout}
checks:
  - {kind: no_loss, topic: lines}
"""
JOB = """
import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

bootstrap, checkpoint = sys.argv[1:]
spark = SparkSession.builder.getOrCreate()
lines = spark.readStream.format("kafka").option("subscribe", "lines")
lines = lines.option("kafka.bootstrap.servers", bootstrap).load()
said = lines.select("key", F.concat_ws("/", "partition", "offset").alias("value"))
sink = said.writeStream.format("kafka").option("topic", "loud")
sink = sink.option("kafka.bootstrap.servers", bootstrap)
sink.option("checkpointLocation", checkpoint).start().awaitTermination()
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """One run for all tests here."""
    folder = tmp_path_factory.mktemp("kept")
    (folder / "job.py").write_text(JOB)
    (folder / "kept.yaml").write_text(FILE)
    done = streambed("run", "kept.yaml", "--no-report", cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return Run(folder / "runs" / "kept" / "latest")


def test_a_killed_job_resumes_from_its_checkpoint_in_hdfs(run: Run) -> None:
    values = set(run.records()["value"].to_list())

    assert len(values) == run.ledger().sent.height


def test_blocks_lie_on_both_data_nodes_and_nothing_on_the_drivers_disk(run: Run) -> None:
    data = run.directory / "data"

    for node in ("disk1", "disk2"):
        assert list((data / "hdfs" / node / "blocks").rglob("blk_*"))
    assert not (data / "shout" / "checkpoint").exists()


def test_event_logs_of_all_its_lives_are_read_out_of_hdfs(run: Run) -> None:
    logs = event_logs(run.directory)

    assert len(logs) >= 2
    assert all(log.read_text().startswith('{"Event":"SparkListenerLogStart"') for log in logs)
    assert [event for event in run.history().of(Batch) if event.component == "shout"]


def test_the_report_says_where_it_was_kept(run: Run) -> None:
    assert (
        page.facts(page.read(run.directory))["Spark keeps"]
        == "checkpoint and event log of shout in hdfs"
    )
