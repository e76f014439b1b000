"""Time until a Spark cluster with two workers ends its first batch, compared with the same programs
started one after another with stock settings.

    scripts/bench spark_start [--quick] [ROUNDS]

Each round: master, two workers and a streaming job under streambed on an emulated network; then the
same by Spark's own launcher (bin/spark-class, bin/spark-submit by way of PySpark) on the loopback
interface, each part once the one before it answers, without class archives. The job reads Spark's
own rate source, so that Kafka is not involved. Both get two executors of one core and 512 MiB. The
last line is one JSON object of medians, in seconds: `ready_s` is the total, `cluster_s` the part
until every worker is registered. `--quick`: one round with one worker and a shorter load.
"""

from __future__ import annotations

import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from benchmarks._arguments import parser
from streambed import Run, artifacts
from streambed.record.events import Ready

ROOT = Path(__file__).parents[1]
LIMIT_S = 180
LOAD_S, SHORT_LOAD_S = 15, 5
MASTER, PAGE, WORKERS = 17077, 18080, (17078, 17079)
JOB = """
import sys
from pathlib import Path

from pyspark.sql import SparkSession

checkpoint, sign = sys.argv[1:]
spark = SparkSession.builder.appName("first").getOrCreate()
rows = spark.readStream.format("rate").option("rowsPerSecond", 10).load()


def take(batch, number):
    if batch.repartition(2).count() and not Path(sign).exists():
        Path(sign).touch()


writer = rows.writeStream.option("checkpointLocation", checkpoint)
writer.foreachBatch(take).start().awaitTermination()
"""
JOB_CORES = 2
"""What a job requests from all workers together."""
EXPERIMENT = """
version: 1
name: spark-start
topology:
  switches: [core]
  links:
    - {ends: [m, core]}
    - {ends: [w1, core], delay: 1ms}
    - {ends: [w2, core], delay: 1ms}
    - {ends: [engine, core]}
components:
  spark: {kind: spark_cluster, master: m, workers: [WORKERS], cores: CORES}
  first:
    {kind: spark_job, node: engine, cluster: spark, job: job.py,
     args: ["{self.checkpoint}", "{run.directory}/first-batch"]}
"""


def under_streambed(folder: Path, load_s: int, count: int) -> dict[str, float]:
    """One run with `count` workers: when its first batch ended, and when the cluster was ready."""
    names = ", ".join(f"w{number}" for number in range(1, count + 1))
    text = EXPERIMENT.replace("WORKERS", names).replace("CORES", str(JOB_CORES // count))
    text += f"duration: {load_s}s\n"
    (folder / "experiment.yaml").write_text(text)
    command = [
        sys.executable,
        "-m",
        "streambed",
        "run",
        "experiment.yaml",
        "--json",
        "--no-report",
    ]
    began, began_ns = time.time(), time.monotonic_ns()
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=LIMIT_S, check=True
    )
    run = Run(Path(json.loads(done.stdout)["run"]))
    ready = next(event for event in run.history().of(Ready) if event.component == "spark")
    first = (run.directory / "first-batch").stat().st_mtime
    return {"ready_s": first - began, "cluster_s": (ready.time - began_ns) / 1e9}


def stock(folder: Path, count: int) -> dict[str, float]:
    """Spark's own launcher, one part after the other."""
    home = artifacts.find_pyspark()
    java = artifacts.find_java().path
    env = {
        **os.environ,
        "SPARK_HOME": str(home),
        "JAVA_HOME": str(java.parents[1]),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    spark_class = [str(home / "bin" / "spark-class")]
    url = f"spark://127.0.0.1:{MASTER}"
    with ExitStack() as stack:
        began = time.monotonic()
        here = ["--host", "127.0.0.1", "--port", str(MASTER), "--webui-port", str(PAGE)]
        started(
            stack,
            [*spark_class, "org.apache.spark.deploy.master.Master", *here],
            folder / "master.log",
            env,
        )
        await_(lambda: workers() >= 0, folder / "master.log")
        for number, port in enumerate(WORKERS[:count], 1):
            lends = [
                "--cores",
                str(JOB_CORES // count),
                "--memory",
                "1G",
                "--work-dir",
                str(folder / f"work{number}"),
            ]
            here = ["--host", "127.0.0.1", "--port", str(port), "--webui-port", "0"]
            started(
                stack,
                [*spark_class, "org.apache.spark.deploy.worker.Worker", *here, *lends, url],
                folder / f"worker{number}.log",
                env,
            )
            await_(lambda wanted=number: workers() >= wanted, folder / f"worker{number}.log")  # type: ignore[misc]
        there = time.monotonic()
        settings = (
            "--conf spark.executor.memory=512m --conf spark.sql.shuffle.partitions=2 "
            "--conf spark.driver.host=127.0.0.1"
        )
        submit = {
            "PYSPARK_SUBMIT_ARGS": f"--master {url} {settings} pyspark-shell",
            "PYSPARK_PYTHON": sys.executable,
        }
        job = [
            sys.executable,
            str(folder / "job.py"),
            str(folder / "checkpoint"),
            str(folder / "first-batch"),
        ]
        started(stack, job, folder / "job.log", {**env, **submit})
        await_((folder / "first-batch").exists, folder / "job.log")
        return {"stock_s": time.monotonic() - began, "stock_cluster_s": there - began}


def started(stack: ExitStack, command: list[str], log: Path, env: dict[str, str]) -> None:
    """Start a program in its own session; it and its children end with the block."""
    file = stack.enter_context(log.open("wb"))
    process = subprocess.Popen(command, stdout=file, stderr=file, env=env, start_new_session=True)
    stack.callback(process.wait)
    stack.callback(os.killpg, process.pid, signal.SIGKILL)


def workers() -> int:
    """How many workers the master lists; -1 before it responds."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{PAGE}/json/", timeout=1) as answer:
            return sum(worker["state"] == "ALIVE" for worker in json.load(answer)["workers"])
    except OSError:
        return -1


def await_(done: Callable[[], bool], log: Path) -> None:
    """Wait for a condition."""
    end = time.monotonic() + LIMIT_S
    while not done():
        if time.monotonic() > end:
            raise SystemExit(f"waited {LIMIT_S} s:\n{log.read_text()[-3000:]}")
        time.sleep(0.05)


def main(rounds: int, load_s: int, count: int) -> None:
    """Alternate, so that other load on the machine affects both."""
    signal.signal(
        signal.SIGTERM, lambda *told: sys.exit("told to end")
    )  # So that started programs end too.
    for note in artifacts.fetch(
        ["spark_job"], lambda step: None
    ):  # Makes the class archive if it is missing; that is not measured.
        print(f"note: {note}", file=sys.stderr)
    measured = []
    for number in range(rounds):
        with tempfile.TemporaryDirectory() as ours, tempfile.TemporaryDirectory() as theirs:
            for folder in (ours, theirs):
                (Path(folder) / "job.py").write_text(JOB)
            mine, stocks = under_streambed(Path(ours), load_s, count), stock(Path(theirs), count)
            measured.append({**mine, **stocks})
        print(f"round {number + 1}: {measured[-1]}", file=sys.stderr)
    medians = {
        key: round(statistics.median(each[key] for each in measured), 3) for key in measured[0]
    }
    print(
        json.dumps(
            {
                "bench": "spark_start",
                "rounds": rounds,
                **medians,
                "ratio": round(medians["ready_s"] / medians["stock_s"], 3),
            }
        )
    )


if __name__ == "__main__":
    words = parser(__doc__, quick="one round with one worker and a shorter load")
    words.add_argument("rounds", nargs="?", type=int)
    asked = words.parse_args()
    load_s, count = (SHORT_LOAD_S, 1) if asked.quick else (LOAD_S, len(WORKERS))
    main(asked.rounds or (1 if asked.quick else 3), load_s, count)
