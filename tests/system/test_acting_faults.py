"""Faults act when they matter and on whom they name, and the run shows that they did: one run with
all of them, in which nothing acknowledged is lost.
"""

from __future__ import annotations

import json
import os
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from streambed import Run
from streambed.record.events import (
    Clock,
    Event,
    Heal,
    HealFailed,
    Inject,
    InjectFailed,
    LeaderChanged,
    ProbedFault,
    ProcessEnded,
    ProcessStarted,
)
from tests.support.running import streambed

pytestmark = [pytest.mark.system, pytest.mark.together(90)]

EXPERIMENT = """
version: 1
name: acting
duration: 30s
drain: 2min
topology:
  switches: [core]
  links:
    - {{ends: [edge, core], delay: 2ms}}
    - {{ends: [home, core], delay: 1ms}}
    - {{ends: [b1, core]}}
    - {{ends: [b2, core]}}
    - {{ends: [b3, core]}}
components:
  kafka:
    kind: kafka
    nodes: [b1, b2, b3]
    settings: {{auto.leader.rebalance.enable: false}}
    topics: {{lines: {{replicas: 3, leaders: [b2]}}, money: {{}}, shouts: {{}}}}
  poet: {{kind: producer, node: edge, writes: lines, rate: 200/s, text: "hello {{n}}"}}
  bank: {{kind: producer, node: edge, writes: money, rate: 20/s, transaction: {{records: 10}}}}
  reader: {{kind: consumer, node: home, reads: lines}}
  busy: {{kind: command, node: home, argv: [{python}, {busy}], on_exit: record}}
  shout:
    kind: spark_job
    node: home
    job: shout.py
    args: ["{{kafka.bootstrap}}", "{{self.checkpoint}}"]
    reads: lines
    writes: shouts
faults:
  - {{kind: stop, at: 1s, lasts: 2s, target: leader of lines/0}}
  - {{kind: pause, at: 6500ms, lasts: 100ms, target: follower of lines/0}}
  - {{kind: pause, after: 600 acked on lines, lasts: 100ms, target: poet}}
  - {{kind: pause, at: 5s, lasts: 200ms, target: transaction coordinator of bank}}
  - {{kind: pause, at: 5s, when: bank is committing, lasts: 200ms, target: bank}}
  - {{kind: jam, at: 7s, lasts: 1s, link: [edge, core]}}
  - {{kind: slow_cpu, at: 9s, lasts: 2s, target: busy, share: 10%}}
  - {{kind: flap, at: 9s, lasts: 1s, link: [edge, core], down: 300ms, up: 100ms}}
  - {{kind: partition, at: 11s, lasts: 1s, deaf: {{home: [edge]}}}}
  - {{kind: partition, at: 12500ms, lasts: 500ms, ring: [edge, home, b1, b2]}}
  - {{kind: kill, at: 9s, when: shout has written a batch and not committed it, lasts: 1s,
     target: driver of shout}}
  - {{kind: elect, at: 21s, partition: lines/0}}
  - {{kind: restart, at: 22s, target: all but leader of lines/0}}
  - {{kind: replace, at: 23s, lasts: 3s, target: reader}}
checks:
  - {{kind: no_loss, topic: lines}}
"""
JOB = """
import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

bootstrap, checkpoint = sys.argv[1:]
spark = SparkSession.builder.getOrCreate()
lines = spark.readStream.format("kafka").option("subscribe", "lines")
lines = lines.option("kafka.bootstrap.servers", bootstrap).load()
sink = lines.select("key", F.upper(F.col("value").cast("string")).alias("value")).writeStream
sink = sink.format("kafka").option("topic", "shouts").option("kafka.bootstrap.servers", bootstrap)
sink.option("checkpointLocation", checkpoint).start().awaitTermination()
"""
BUSY = """
import os, time

gate = os.environ["STREAMBED_RUN"] + "/gates/load"
while not os.path.exists(gate):
    time.sleep(0.01)
time.sleep(8)
end = time.monotonic() + 5
with open(os.environ["STREAMBED_RUN"] + "/data/spent.txt", "w") as file:
    while time.monotonic() < end:
        print(time.monotonic_ns(), time.process_time_ns(), file=file, flush=True)
        until = time.monotonic() + 0.05
        while time.monotonic() < until:
            pass
time.sleep(60)
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("acting")
    (folder / "shout.py").write_text(JOB)
    (folder / "busy.py").write_text(BUSY)
    text = EXPERIMENT.format(python=sys.executable, busy=folder / "busy.py")
    (folder / "experiment.yaml").write_text(text)
    done = streambed("run", "experiment.yaml", "--json", "--no-report", cwd=folder)
    assert done.stdout, done.stderr
    return Run(Path(json.loads(done.stdout)["run"]))


def one(run: Run, kind: str, event: type[Event] = Inject) -> Event:
    (found,) = [found for found in run.history().of(event) if found.kind == kind]
    return found


def test_every_fault_is_injected_and_healed_and_nothing_acked_is_lost(run: Run) -> None:
    assert run.history().of(InjectFailed, HealFailed) == []
    assert len(run.history().of(Inject)) == len(run.history().of(Heal)) == 14
    (verdict,) = run.judge().verdicts
    assert verdict.holds, verdict.says


def test_a_triggered_fault_names_its_trigger_and_comes_soon_after_it(run: Run) -> None:
    triggered = {event.trigger: event for event in run.history().of(Inject) if event.trigger}

    assert set(triggered) == {
        "600 acked on lines",
        "bank is committing",
        "shout has written a batch and not committed it",
    }
    assert all(event.late_ns < 500_000_000 for event in triggered.values())


def test_a_count_is_reached_when_its_fault_comes(run: Run) -> None:
    (pause,) = [
        event for event in run.history().of(Inject) if event.trigger == "600 acked on lines"
    ]
    acked = run.history().ledger.sent["acked"].drop_nulls().sort()

    assert acked[599] <= pause.time
    assert acked.filter(acked <= pause.time).len() < 900, "not long after"


def test_the_driver_dies_between_a_batch_and_its_commit(run: Run) -> None:
    killed_ns = one(run, "kill").time + wall_ns_of(run)
    checkpoint = run.directory / "data" / "shout" / "checkpoint"

    def written_ns(log: str, batch: str) -> int:
        return (checkpoint / log / batch).stat().st_mtime_ns

    batches = [path.name for path in (checkpoint / "offsets").iterdir() if path.name.isdigit()]
    torn = [
        batch
        for batch in batches
        if (checkpoint / "commits" / batch).exists()
        and written_ns("offsets", batch) < killed_ns < written_ns("commits", batch)
    ]
    assert len(torn) == 1


def wall_ns_of(run: Run) -> int:
    clock = run.history().of(Clock)[0]
    return clock.wall_ns - clock.time


def test_probes_show_what_each_fault_of_the_network_did(run: Run) -> None:
    probes = {(event.kind, event.target): event for event in run.history().of(ProbedFault)}
    jam = probes["jam", "edge – core"]
    deaf = probes["partition", "home deaf to edge"]
    ring = probes["partition", "ring of edge, home, b1, b2"]

    assert [(way.source, way.arrived) for way in jam.ways] == [("edge", 0), ("core", 0)]
    assert [(way.source, way.target, way.arrived) for way in deaf.ways] == [("edge", "home", 0)]
    apart = {frozenset((way.source, way.target)) for way in ring.ways if not way.arrived}
    assert apart == {frozenset(("edge", "b1")), frozenset(("home", "b2"))}


def test_a_stopped_broker_ends_in_order(run: Run) -> None:
    stop = one(run, "stop")
    ends = [event for event in run.history().of(ProcessEnded) if event.process in stop.processes]

    assert stop.processes == ("kafka/b2",), "it leads lines/0"
    assert (ends[0].status, ends[0].expected) == (143, True), "as Java ends on SIGTERM"
    log = (run.directory / "logs" / f"{stop.processes[0].replace('/', '.')}.log").read_text()
    assert "shut down completed" in log or "shutting down" in log.lower()


def test_a_rolling_restart_takes_the_second_when_the_first_is_back(run: Run) -> None:
    restart, healed = one(run, "restart"), one(run, "restart", Heal)
    during = [
        event
        for event in run.history().of(ProcessStarted, ProcessEnded)
        if event.process in restart.processes and restart.time <= event.time <= healed.time
    ]

    first, second = restart.processes
    assert [(type(event), event.process) for event in during] == [
        (ProcessEnded, first),
        (ProcessStarted, first),
        (ProcessEnded, second),
        (ProcessStarted, second),
    ]


def test_a_replaced_reader_has_two_lives_at_once(run: Run) -> None:
    replaced = one(run, "replace")
    (second,) = [event for event in run.history().of(ProcessStarted) if event.process == "reader~2"]
    ends = [event for event in run.history().of(ProcessEnded) if event.component == "reader"]

    assert replaced.processes == ("reader", "reader~2")
    assert all(end.time > one(run, "replace", Heal).time > second.time for end in ends)


def test_a_slowed_process_gets_its_share_of_the_cpu(run: Run) -> None:
    lines = (run.directory / "data" / "spent.txt").read_text().splitlines()
    rows = [tuple(map(int, line.split())) for line in lines]
    slow_ns, free_ns = one(run, "slow_cpu").time, one(run, "slow_cpu", Heal).time

    def share(start_ns: int, end_ns: int) -> float:
        spans = [
            (later[0] - sooner[0], later[1] - sooner[1])
            for sooner, later in pairwise(rows)
            if start_ns <= sooner[0] and later[0] <= end_ns
        ]
        return sum(spent for _, spent in spans) / sum(passed for passed, _ in spans)

    assert share(slow_ns, free_ns) < 0.1 * (os.cpu_count() or 1) * 1.5
    assert one(run, "slow_cpu").how


def test_an_election_brings_the_preferred_leader_back(run: Run) -> None:
    elect = one(run, "elect")
    changes = [event for event in run.history().of(LeaderChanged) if event.topic == "lines"]
    # The new leader may be seen before the fault reports that it acted: count from when it was due.
    before = [event.now for event in changes if event.time < elect.time - elect.late_ns]

    assert elect.target == "kafka/b2 (leader of lines/0)"
    assert before[-1] in ("b1", "b3"), "b2 was stopped, and did not lead when it came back"


def test_a_follower_is_hit_and_not_the_leader(run: Run) -> None:
    (pause,) = [event for event in run.history().of(Inject) if "(follower" in event.target]
    changes = [event for event in run.history().of(LeaderChanged) if event.topic == "lines"]
    leaders = [event.now for event in changes if event.time < pause.time]

    assert pause.processes[0].partition("/")[2] != leaders[-1]
