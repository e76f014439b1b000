"""Time until a Spark job's first output can be read, compared with the same programs started one
after another with stock settings.

    scripts/bench start [--quick] [ROUNDS]

Each round runs the word-count star (one broker, one job, 500 records/s, linger 5 ms) under
streambed, then Kafka and then the same job with stock flags on the loopback interface. Both use
local[2] and two shuffle partitions. They differ in how they are started, and in streambed's
defaults: the light compiler, class archives, an event log, no web page of Spark.
Formatting Kafka's disk is not counted for either. The last line is one JSON object of medians;
`ratio` should stay below 0.45.
`--quick`: one round with a shorter load.
"""

from __future__ import annotations

import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import polars as pl
from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from benchmarks._arguments import parser
from streambed import Run, artifacts

ROOT = Path(__file__).parents[1]
JOBS = ROOT / "examples" / "word_count"
LOAD_S, SHORT_LOAD_S = 20, 4
LIMIT_S = 180
RATIO_MAX = 0.45
EXPERIMENT = f"""
version: 1
name: start
topology:
  switches: [core]
  links:
    - {{ends: [edge, core], delay: 20ms, rate: 10Mbit}}
    - {{ends: [broker, core], delay: 2ms, rate: 1Gbit}}
    - {{ends: [engine, core], delay: 2ms}}
    - {{ends: [home, core], delay: 5ms}}
components:
  kafka:
    {{kind: kafka, nodes: [broker],
     topics: {{lines: {{partitions: 2}}, frequencies: {{partitions: 2}}}}}}
  poet:
    {{kind: producer, node: edge, writes: lines, file: {JOBS}/lines.txt, key: tab,
     rate: 500/s, linger: 5ms}}
  counter:
    {{kind: spark_job, node: engine, job: {JOBS}/frequencies.py, reads: lines, writes: frequencies,
     args: [--bootstrap, "{{kafka.bootstrap}}", --reads, lines, --writes, frequencies,
            --checkpoint, "{{self.checkpoint}}", --trigger, 0 seconds]}}
  reader: {{kind: consumer, node: home, reads: frequencies}}
"""
STOCK_KAFKA_FLAGS = (
    "-Xmx1G",
    "-Xms1G",
    "-server",
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35",
)
BROKER, CONTROLLER = 19092, 19093


def cpu_s(pid: int) -> float:
    """CPU seconds of a process; 0 if it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def under_streambed(folder: Path, load_s: int) -> dict[str, float]:
    """One run: when the first output was read, and what streambed itself used during the load."""
    (folder / "start.yaml").write_text(f"{EXPERIMENT}duration: {load_s}s\n")
    command = [
        str(ROOT / ".venv" / "bin" / "streambed"),
        "run",
        "start.yaml",
        "--json",
        "--no-report",
    ]
    began_ns = time.monotonic_ns()
    launcher = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True)
    used: list[tuple[int, float]] = []
    while launcher.poll() is None:
        used.append((time.monotonic_ns(), cpu_s(launcher.pid)))
        time.sleep(0.2)
    assert launcher.stdout
    summary = json.loads(launcher.stdout.read())
    assert summary["state"] == "finished", summary
    run = Run(Path(summary["run"]))
    load_ns = run.history().load_ns
    assert load_ns
    seen = run.ledger().seen.filter(pl.col("topic") == "frequencies")["seen"].min()
    own = own_cpu_share(run.samples(), used, load_ns, load_ns + load_s * 10**9)
    return {"ready_s": (int(seen) - began_ns) / 1e9, "load_s": (load_ns - began_ns) / 1e9, **own}


def own_cpu_share(
    samples: pl.DataFrame, launcher: list[tuple[int, float]], start_ns: int, end_ns: int
) -> dict[str, float]:
    """Cores used during the load by conductor (with sampler), delay line and launcher."""
    during = samples.filter(
        (pl.col("metric") == "process_cpu_s") & pl.col("time").is_between(start_ns, end_ns)
    )
    shares = {}
    for name in ("conductor", "delay line"):
        rows = during.filter(pl.col("of") == name).sort("time")
        shares[name] = (
            (rows["value"][-1] - rows["value"][0]) / (rows["time"][-1] - rows["time"][0]) * 1e9
        )
    inside = [(at, used) for at, used in launcher if start_ns <= at <= end_ns]
    shares["launcher"] = (inside[-1][1] - inside[0][1]) / (inside[-1][0] - inside[0][0]) * 1e9
    return {
        f"{name.replace(' ', '_')}_cpu_share": round(share, 3) for name, share in shares.items()
    } | {"overhead_cpu_share": sum(shares.values())}


def stock(folder: Path) -> float:
    """Kafka, then Spark, with stock settings; seconds from Kafka's start to the first output."""
    java = str(artifacts.find_java().path)
    jars = [str(path) for path in artifacts.jars("kafka")]
    settings = {
        "process.roles": "broker,controller",
        "node.id": "1",
        "listeners": f"PLAINTEXT://127.0.0.1:{BROKER},CONTROLLER://127.0.0.1:{CONTROLLER}",
        "advertised.listeners": f"PLAINTEXT://127.0.0.1:{BROKER}",
        "controller.listener.names": "CONTROLLER",
        "controller.quorum.voters": f"1@127.0.0.1:{CONTROLLER}",
        "log.dirs": f"{folder}/log",
        "offsets.topic.replication.factor": "1",
    }
    properties = folder / "server.properties"
    properties.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
    tool = [
        java,
        "-cp",
        ":".join(jars),
        "kafka.tools.StorageTool",
        "format",
        "-t",
        "MkU3OEVBNTcwNTJENDM2Qg",
        "-c",
        str(properties),
    ]
    subprocess.run(tool, check=True, capture_output=True)
    with ExitStack() as stack:
        began = time.monotonic()
        started(
            stack,
            [java, *STOCK_KAFKA_FLAGS, "-cp", ":".join(jars), "kafka.Kafka", str(properties)],
            folder / "kafka.log",
        )
        make_topics()
        sending = threading.Event()
        thread = threading.Thread(target=send, args=(sending,))
        thread.start()
        stack.callback(thread.join)
        stack.callback(sending.set)
        job = [
            sys.executable,
            str(JOBS / "frequencies.py"),
            "--bootstrap",
            f"127.0.0.1:{BROKER}",
            "--reads",
            "lines",
            "--writes",
            "frequencies",
        ]
        connectors = ",".join(str(path) for path in artifacts.jars("spark_job"))
        submit = (
            "--master local[2] --conf spark.sql.shuffle.partitions=2 "
            f"--jars {connectors} pyspark-shell"
        )
        env = {
            **os.environ,
            "JAVA_HOME": str(Path(java).parents[1]),
            "PYSPARK_SUBMIT_ARGS": submit,
            "PYSPARK_PYTHON": sys.executable,
        }
        started(
            stack,
            [*job, "--checkpoint", f"{folder}/checkpoint", "--trigger", "0 seconds"],
            folder / "spark.log",
            env,
        )
        await_output(folder)
        return time.monotonic() - began


def started(
    stack: ExitStack, command: list[str], log: Path, env: dict[str, str] | None = None
) -> None:
    """Start a program in its own session; it and its children end with the block."""
    file = stack.enter_context(log.open("wb"))
    process = subprocess.Popen(command, stdout=file, stderr=file, env=env, start_new_session=True)
    stack.callback(process.wait)
    stack.callback(os.killpg, process.pid, signal.SIGKILL)


def make_topics() -> None:
    """Create topics as soon as the broker responds."""
    client = AdminClient(
        {
            "bootstrap.servers": f"127.0.0.1:{BROKER}",
            "log_level": 0,
            "reconnect.backoff.max.ms": 200,
        }
    )
    end = time.monotonic() + LIMIT_S
    while time.monotonic() < end:
        try:
            client.list_topics(timeout=0.5)
            break
        except KafkaException:
            continue
    for future in client.create_topics(
        [NewTopic("lines", 2, 1), NewTopic("frequencies", 2, 1)]
    ).values():
        future.result()


def send(stop: threading.Event) -> None:
    """Send the same lines at the same rate."""
    lines = [line.partition("\t") for line in (JOBS / "lines.txt").read_text().splitlines()]
    client = Producer({"bootstrap.servers": f"127.0.0.1:{BROKER}", "linger.ms": 5, "log_level": 0})
    number = 0
    while not stop.wait(0.002):
        key, _, text = lines[number % len(lines)]
        client.produce("lines", text, key)
        client.poll(0)
        number += 1


def await_output(folder: Path) -> None:
    """Wait until the job's first output can be read."""
    client = Consumer(
        {
            "bootstrap.servers": f"127.0.0.1:{BROKER}",
            "group.id": "bench",
            "auto.offset.reset": "earliest",
            "log_level": 0,
        }
    )
    with closing(client):
        client.subscribe(["frequencies"])
        end = time.monotonic() + LIMIT_S
        while time.monotonic() < end:
            message = client.poll(0.05)
            if message is not None and not message.error():
                return
    raise SystemExit(f"no output within {LIMIT_S} s:\n{(folder / 'spark.log').read_text()[-3000:]}")


def main(rounds: int, load_s: int) -> None:
    """Alternate, so that other load on the machine affects both."""
    measured: list[dict[str, Any]] = []
    for number in range(rounds):
        with tempfile.TemporaryDirectory() as ours, tempfile.TemporaryDirectory() as theirs:
            measured.append({**under_streambed(Path(ours), load_s), "stock_s": stock(Path(theirs))})
        print(f"round {number + 1}: {measured[-1]}", file=sys.stderr)
    medians = {
        key: round(statistics.median(each[key] for each in measured), 3) for key in measured[0]
    }
    ratio = round(medians["ready_s"] / medians["stock_s"], 3)
    figures = {"bench": "start", "rounds": rounds, **medians, "ratio": ratio}
    print(json.dumps({**figures, "within_limits": ratio <= RATIO_MAX}))


if __name__ == "__main__":
    words = parser(__doc__, quick="one round with a shorter load")
    words.add_argument("rounds", nargs="?", type=int)
    asked = words.parse_args()
    main(asked.rounds or (1 if asked.quick else 3), SHORT_LOAD_S if asked.quick else LOAD_S)
