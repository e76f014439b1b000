"""200 producers on 20 hosts in 4 processes, beside transactions, a function's records, a group of
static members, and a program that passes records on and hands in its ledger: one run.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import polars as pl
import pytest

from streambed import Latency, NoLoss, Run
from streambed.kinds.components.component import OnOneNode
from streambed.kinds.components.engine import CoveredByKeyCount
from streambed.kinds.declaring import Name, Names, declared
from tests.support.running import only_run, streambed

pytestmark = pytest.mark.system

HOSTS = [f"h{number}" for number in range(1, 21)]
READING_HOSTS = HOSTS[:3]
LOAD_S = 8
EXPERIMENT = f"""
version: 1
name: producers
duration: {LOAD_S}s
topology:
  switches: [core]
  links:
    - {{ends: [broker, core]}}
    - {{ends: [edge, core]}}
{"".join(f"    - {{ends: [{host}, core]}}{chr(10)}" for host in HOSTS)}
components:
  kafka:
    {{kind: kafka, nodes: [broker],
     topics: {{wide: {{partitions: 2}}, broad: {{}}, sums: {{}}, readings: {{}}, relayed: {{}},
              quiet: {{}}, pried: {{}}}}}}
  load: {{kind: producer, nodes: [{", ".join(HOSTS)}], each: 10, agents: 4,
          writes: [wide, broad], rate: 5/s, size: 2kB, linger: 100ms}}
  banker: {{kind: producer, node: edge, writes: sums, rate: 40/s, keys: 5,
           transaction: {{records: 30}}}}
  sensor:
    {{kind: producer, node: edge, writes: readings, function: "sensor:reading", rate: 20/s,
      profile: {{shape: on_off, bursts: 1s, pauses: 1s}}}}
  pryer:
    {{kind: producer, nodes: [edge, h1], agents: 1, writes: pried, function: "pry:attempt",
      rate: 5/s}}
  hushed: {{kind: producer, node: edge, writes: quiet, rate: 50/s, ledger: false}}
  one: {{kind: consumer, node: edge, reads: [wide, broad], group: pair, membership: static}}
  crowd:
    {{kind: consumer, nodes: [{", ".join(READING_HOSTS)}], agents: 2, reads: [wide, broad],
      settings: {{partition.assignment.strategy: roundrobin}}}}
  two: {{kind: consumer, node: edge, reads: [wide, broad], group: pair, membership: static}}
  relay: {{kind: command, node: edge, reads: readings, argv: ["{{run.python}}", relay.py]}}
  teller: {{kind: consumer, node: edge, reads: [sums, readings, relayed, pried], keep: true}}
checks:
  - {{kind: no_loss, topic: wide}}
  - {{kind: no_loss, topic: broad}}
  - {{kind: no_loss, topic: sums}}
  - {{kind: no_loss, topic: readings}}
  - {{kind: no_loss, topic: quiet}}
"""
SENSOR = """
def reading(number, random):
    celsius = f"{random.gauss(20, 5):.1f}"
    return {"key": f"sensor{number % 3}", "value": celsius, "headers": {"unit": "celsius"}}
"""
PRY = """
import ctypes, errno, os, threading

libc = ctypes.CDLL(None, use_errno=True)
REMOUNT_WRITABLE = 0x20 | 0x1000

def attempt_here(answers):
    failed = libc.mount(None, b"/", None, REMOUNT_WRITABLE, None)
    answers.append(errno.errorcode[ctypes.get_errno()] if failed else "allowed")

def capabilities(thread):
    with open(f"/proc/self/task/{thread}/status") as status:
        return {line.split()[1] for line in status if line.startswith(("CapPrm", "CapBnd"))}

SYS_ADMIN = 1 << 21
held = set().union(*map(capabilities, os.listdir("/proc/self/task")))
powerful = any(int(mask, 16) & SYS_ADMIN for mask in held)

def attempt(number, random):
    answers = []
    attempt_here(answers)
    other = threading.Thread(target=attempt_here, args=(answers,))
    other.start()
    other.join()
    return f"{answers} {powerful}"
"""
RELAY = """
import os, signal, time
from confluent_kafka import Consumer, Producer
from streambed import hand_in

stopping = []
signal.signal(signal.SIGTERM, lambda *_: stopping.append(True))
server = {"bootstrap.servers": os.environ["STREAMBED_BOOTSTRAP"]}
consumer = Consumer({**server, "group.id": "relay", "auto.offset.reset": "earliest"})
producer = Producer({**server, "linger.ms": "5"})
consumer.subscribe(["readings"])
names = ("producer", "sequence", "topic", "partition", "offset", "seen", "key")
rows = []
while not stopping:
    message = consumer.poll(0.2)
    producer.poll(0)
    if message is None or message.error():
        if rows:
            hand_in("seen", dict(zip(names, map(list, zip(*rows)))))
        continue
    sender, _, number = dict(message.headers())["sb"].decode().rpartition("/")
    position = (message.topic(), message.partition(), message.offset())
    rows.append((sender, int(number), *position, time.monotonic_ns(), message.key()))
    producer.produce("relayed", message.value(), message.key())
"""


@declared
class KeyedJob(OnOneNode, CoveredByKeyCount):
    """The relay as an engine: it passes on keys, but no header."""

    kind: Literal["keyed_job"] = "keyed_job"
    name: Name = "relay"
    node: str = "edge"
    reads: Names = ("readings",)
    writes: Names = ("relayed",)

    @property
    def as_engine(self) -> KeyedJob:
        return self


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder: Path = tmp_path_factory.mktemp("producers")
    (folder / "producers.yaml").write_text(EXPERIMENT)
    (folder / "sensor.py").write_text(SENSOR)
    (folder / "pry.py").write_text(PRY)
    (folder / "relay.py").write_text(RELAY)
    found = streambed(
        "run", "producers.yaml", "--into", "runs", "--no-report", cwd=folder, limit_s=110
    )
    directory = only_run(folder / "runs")
    assert directory, found.stdout + found.stderr
    return Run(directory)


def sent_by(run: Run, producer: str) -> pl.DataFrame:
    return run.ledger().sent.filter(pl.col("producer").str.starts_with(producer))


def test_200_producers_in_4_processes_send_exactly_what_their_rate_says(run: Run) -> None:
    counts = sent_by(run, "load/").group_by("producer").len()

    assert len([process for process in run.plan.processes if process.component == "load"]) == 4
    assert counts.height == 200
    assert counts["len"].unique().to_list() == [5 * LOAD_S]


def test_most_records_are_handed_over_when_they_are_due(run: Run) -> None:
    late_s = (sent_by(run, "load/")["sent"] - sent_by(run, "load/")["due"]) / 1e9

    assert late_s.median() < 0.1


def test_each_host_sends_the_bytes_of_its_producers(run: Run) -> None:
    counters = run.samples().filter(
        (pl.col("metric") == "port_tx_bytes") & (pl.col("time") >= run.history().load_ns)
    )
    by_port = counters.group_by("of").agg(
        (pl.col("value").max() - pl.col("value").min()).alias("bytes")
    )
    sent = {name.partition("/")[0]: carried for name, carried in by_port.iter_rows()}
    payload = 10 * 5 * LOAD_S * 2000

    assert all(sent[host] > 0.6 * payload for host in HOSTS), sent
    # The other hosts have consumers as well, whose requests are the more the sooner the records
    # come.
    assert all(sent[host] < 1.6 * payload for host in HOSTS if host not in READING_HOSTS), sent


@pytest.mark.parametrize("topic", ["wide", "broad", "sums", "readings"])
def test_nothing_is_lost(run: Run, topic: str) -> None:
    verdict = run.verdicts()[["wide", "broad", "sums", "readings"].index(topic)]

    assert verdict.holds, verdict.says


def test_without_a_ledger_nothing_is_known(run: Run) -> None:
    assert (run.verdicts()[4].answer, run.verdicts()[4].says) == (
        "unknown",
        "hushed kept no ledger of quiet",
    )


def test_records_of_a_transaction_are_acknowledged_at_once(run: Run) -> None:
    per_commit = sent_by(run, "banker").group_by("acked").len()

    assert sorted(per_commit["len"].to_list()) == [40 * LOAD_S % 30, *[30] * (40 * LOAD_S // 30)]


def test_records_come_in_bursts_and_from_a_function(run: Run) -> None:
    assert sent_by(run, "sensor").height == 20 * LOAD_S // 2
    kept = run.records().filter(pl.col("topic") == "readings")
    assert kept["key"].unique().sort().to_list() == [b"sensor0", b"sensor1", b"sensor2"]


def test_a_function_in_an_agent_of_several_hosts_cannot_undo_the_boxs_mounts(run: Run) -> None:
    answers = run.records().filter(pl.col("topic") == "pried")

    assert sent_by(run, "pryer/").group_by("producer").len()["len"].to_list() == [5 * LOAD_S] * 2
    assert answers["value"].unique().to_list() == [b"['EPERM', 'EPERM'] False"]


def test_sender_and_reader_note_the_same_hash_of_a_key(run: Run) -> None:
    ledger = run.ledger()
    sent = ledger.sent.select("producer", "sequence", "key")
    both = ledger.seen.join(sent, on=["producer", "sequence"], suffix="_sent")

    assert both.filter(pl.col("key").ne_missing(pl.col("key_sent"))).is_empty()
    component = pl.col("producer").str.split("/").list.first()
    keys = both.group_by(component=component).agg(pl.col("key").drop_nulls().n_unique())
    assert dict(keys.iter_rows()) == {"banker": 5, "sensor": 3, "load": 0, "pryer": 0}


def test_a_program_hands_in_what_it_has_seen(run: Run) -> None:
    relayed = run.ledger().seen.filter(pl.col("consumer") == "relay")

    assert relayed.height == sent_by(run, "sensor").height
    verdict = run.verdicts()[3]
    assert verdict.evidence["readers"]["relay"] == {"seen": relayed.height, "duplicates": 0}


def test_a_job_without_headers_is_traced_by_the_count_of_its_keys(run: Run) -> None:
    recorded = run.history()
    job: Any = KeyedJob()
    history = replace(recorded, components={**recorded.components, "relay": job})
    records = sent_by(run, "sensor").height

    no_loss = NoLoss(topic="readings", by=("relay",)).judge(history)
    latency = Latency(of="relay", max="1min").judge(history)

    assert (no_loss.answer, no_loss.evidence["readers"]["relay"]["seen"]) == ("holds", records)
    assert (latency.answer, latency.evidence["records"]) == ("holds", records)


def test_consumers_on_three_hosts_in_two_processes_share_the_partitions(run: Run) -> None:
    seen = run.ledger().seen.filter(pl.col("group") == "crowd")

    assert len([process for process in run.plan.processes if process.component == "crowd"]) == 2
    assert sorted(seen["consumer"].unique()) == ["crowd/h1", "crowd/h2", "crowd/h3"]
    assert seen.height == sent_by(run, "load/").height
