"""How late faults are injected: after their declared times, and after their triggers.

    scripts/bench faults [--quick]

One run on two brokers with a producer, a Spark job and idle processes that are paused: at declared
times (`timed_ms`), when the job has written a batch and not committed it (`file_ms`, after the
file's own time), when a number of records was acknowledged (`count_ms`, after that record's own
acknowledgement in the ledger), and when a leader changes (`role_ms`, after a program that asks its
broker every 5 ms first saw it; brokers are asked every `role_every_ms`). Medians, and p99 where
there are enough; and how accurate a skewed clock is, in Python and each Java here (`skew`). The
last line is one JSON object. `--quick`: a load of 6 s, without the leader.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
from pathlib import Path

from benchmarks import _skew
from benchmarks._arguments import parser
from streambed import Run, run
from streambed.declare import reading
from streambed.kinds.faults.when.triggers import ROLES_S
from streambed.record.events import Inject, InjectFailed

RATE = 500
COUNTS = 20
BATCHES = 12
ENOUGH_FOR_P99 = 10
EXPERIMENT = """
version: 1
name: fault-lateness
duration: {duration}s
topology:
  switches: [core]
  links:
    - {{ends: [edge, core], delay: 1ms}}
    - {{ends: [b1, core]}}
    - {{ends: [b2, core]}}
components:
  kafka:
    kind: kafka
    nodes: [b1, b2]
    controllers: [b2]
    settings: {{auto.leader.rebalance.enable: false}}
    topics: {{lines: {{replicas: 2, leaders: [b1]}}, shouts: {{}}}}
  poet: {{kind: producer, node: edge, writes: lines, rate: {rate}/s, size: 50B}}
  shout: {{kind: spark_job, node: edge, job: shout.py, reads: lines, writes: shouts,
          args: ["{{kafka.bootstrap}}", "{{self.checkpoint}}"]}}
  idle: {{kind: command, node: edge, argv: [sleep, "600"], on_exit: record}}
  other: {{kind: command, node: edge, argv: [sleep, "600"], on_exit: record}}
  looker: {{kind: command, node: b2, argv: [{python}, {looker}], on_exit: record}}
faults:
{faults}
"""
SHOUT = """
import sys

from pyspark.sql import SparkSession

bootstrap, checkpoint = sys.argv[1:]
spark = SparkSession.builder.getOrCreate()
lines = spark.readStream.format("kafka").option("subscribe", "lines")
lines = lines.option("kafka.bootstrap.servers", bootstrap).load()
sink = lines.select("key", "value").writeStream.format("kafka").option("topic", "shouts")
sink = sink.option("kafka.bootstrap.servers", bootstrap).trigger(processingTime="300 milliseconds")
sink.option("checkpointLocation", checkpoint).start().awaitTermination()
"""
LOOKER = """
import os, socket, time
from streambed.kinds.components.kafka import protocol
from streambed.kinds.components.kafka.properties import BROKER_PORT

while not os.path.exists(os.environ["STREAMBED_RUN"] + "/gates/load"):
    time.sleep(0.01)
led = -1
with open(os.environ["STREAMBED_RUN"] + "/data/leaders.txt", "w") as file:
    while True:
        time.sleep(0.005)
        try:
            connection = socket.create_connection(("b2", BROKER_PORT), 1)
        except OSError:
            continue
        for answer in protocol.answers([connection], protocol.view_request(["lines"])):
            leader = protocol.view(answer)["lines"][0].leader
            if leader != led and leader > 0:
                led = leader
                print(time.monotonic_ns(), leader, file=file, flush=True)
"""


def faults(duration_s: int, *, quick: bool) -> list[str]:
    """The faults of the run, as lines of YAML."""
    lines = ["kind: pause, at: 500ms, every: 250ms, lasts: 20ms, target: idle"]
    counts = COUNTS // 5 if quick else COUNTS
    for number in range(1, counts + 1):
        records = number * RATE * (duration_s - 2) // (counts + 1)
        from_ms = max(0, 1000 * records // RATE - 500)
        lines.append(
            f"kind: pause, at: {from_ms}ms, after: {records} acked on lines, lasts: 1ms, "
            "target: other"
        )
    for batch in range(1, 2 if quick else 1 + BATCHES):
        when = f"shout has written batch {batch} and not committed it"
        lines.append(f"kind: pause, when: {when}, lasts: 1ms, target: other")
    if not quick:
        end_s = duration_s - 28
        lines.append(f"kind: stop, at: {end_s}s, lasts: 4s, target: kafka/b1")
        lines.append(f"kind: elect, at: {end_s + 25}s, partition: lines/0")
        for from_s in (end_s - 1, end_s + 24):
            when = f"at: {from_s}s, when: leader of lines/0 changes"
            lines.append(f"kind: pause, {when}, lasts: 1ms, target: other")
    return lines


def make_run(folder: Path, *, quick: bool) -> Run:
    """Run the experiment in a folder."""
    duration_s = 6 if quick else 60
    (folder / "shout.py").write_text(SHOUT)
    (folder / "looker.py").write_text(LOOKER)
    listed = "\n".join(f"  - {{{line}}}" for line in faults(duration_s, quick=quick))
    text = EXPERIMENT.format(
        duration=duration_s,
        rate=RATE,
        python=sys.executable,
        looker=folder / "looker.py",
        faults=listed,
    )
    (folder / "experiment.yaml").write_text(text)
    declared = reading.read(folder / "experiment.yaml")
    return run(declared.experiment, into=folder / "runs", base=folder)


def lateness_ms(done: Run) -> dict[str, list[float]]:
    """How late each fault was injected, by its trigger."""
    late: dict[str, list[float]] = {"timed": [], "file": [], "count": [], "role": []}
    acked = done.history().ledger.sent["acked"].drop_nulls().sort()
    leaders = (done.directory / "data" / "leaders.txt").read_text().splitlines()
    seen_ns = [int(line.split()[0]) for line in leaders]
    for event in done.history().of(Inject):
        if not event.trigger:
            if event.kind == "pause":
                late["timed"].append(event.late_ns / 1e6)
        elif "acked on" in event.trigger:
            number = int(event.trigger.split()[0])
            late["count"].append((event.time - acked[number - 1]) / 1e6)
        elif "batch" in event.trigger:
            late["file"].append(event.late_ns / 1e6)
        else:
            before = [time_ns for time_ns in seen_ns if time_ns <= event.time]
            late["role"].append((event.time - before[-1]) / 1e6)
    return late


def figures(late: dict[str, list[float]]) -> dict[str, float]:
    """Median and p99 of each kind of trigger."""
    found: dict[str, float] = {}
    for name, values in late.items():
        if values:
            found[f"{name}_ms"] = round(statistics.median(values), 3)
            found[f"{name}_worst_ms"] = round(max(values), 3)
        if len(values) >= ENOUGH_FOR_P99:
            found[f"{name}_p99_ms"] = round(
                statistics.quantiles(values, n=100, method="inclusive")[98], 3
            )
    return found


def main() -> None:
    """Measure once."""
    quick = parser(__doc__, quick="a load of 6 s, without the leader").parse_args().quick
    with tempfile.TemporaryDirectory() as folder:
        print("one run of", "6 s" if quick else "60 s", flush=True)
        done = make_run(Path(folder), quick=quick)
        late = lateness_ms(done)
        missed = [event.reason for event in done.history().of(InjectFailed)]
    for name, values in late.items():
        print(name, len(values), "times:", [round(value, 1) for value in values], flush=True)
    found = {
        "role_every_ms": 1e3 * ROLES_S,
        "missed": missed,
        **figures(late),
        "skew": _skew.measure(),
    }
    print(json.dumps({"bench": "faults", "quick": quick, **found}))


if __name__ == "__main__":
    main()
