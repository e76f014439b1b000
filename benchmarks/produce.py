"""How many records a second the built-in producer and consumer carry, beside Kafka's own programs for measuring that.

    scripts/bench produce [--quick] [ROUNDS]

One broker on loopback, one topic with one partition, records of 200 bytes, acks=all. Each round sends the same number of records with
Kafka's ProducerPerformance, with our producer without a ledger and with one, then reads them with ConsumerPerformance and with our
consumer, in turn. The last line is one JSON object with medians; `produce_ratio` and `consume_ratio` are ours without a ledger divided by
Kafka's, `ledger_ratio` is our producer with the ledger divided by the one without.
`--quick`: one round of 20,000 records, with programs that Java has not compiled yet.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from _arguments import parser
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from streambed import artifacts
from streambed.lone_broker import lone_broker
from streambed.record import now_ns, read_json, wait_until, write_whole

RECORDS, FEW_RECORDS = 1_000_000, 20_000
SIZE_BYTES = 200
LIMIT_S = 90
BATCH_BYTES, LINGER_MS, BUFFER_BYTES = 1_000_000, 5, 256 << 20
ORDER: dict[str, Any] = {
    "producers": [{"name": "poet", "number": 0, "host": ""}],
    "of": 1,
    "order": "turn",
    "file": "",
    "content": "lines",
    "text": "",
    "function": "",
    "folder": "",
    "headers": {},
    "key": "none",
    "size": SIZE_BYTES,
    "sizes": "constant",
    "keys": 0,
    "spread": "uniform",
    "rate": None,
    "profile": None,
    "arrivals": "constant",
    "rounds": None,
    "transaction": 0,
    "after_ns": 0,
    "duration_ns": LIMIT_S * 10**9,
}


def main(rounds: int, records: int, warm_up: int = 1) -> None:
    """Alternate, so that what else the machine does falls on all. The first rounds, for Java's compiler, are not counted."""
    with tempfile.TemporaryDirectory() as name, lone_broker(Path(name) / "kafka", flags=["-Xmx512m"]) as broker:
        rates: dict[str, list[float]] = {}
        for number in range(warm_up + rounds):
            taken = one_round(Path(name), broker.bootstrap, number, records)
            print({key: round(rate) for key, rate in taken.items()}, file=sys.stderr)
            for key, rate in taken.items() if number >= warm_up else ():
                rates.setdefault(key, []).append(rate)
    medians = {f"{key}_per_s": round(statistics.median(each)) for key, each in rates.items()}
    ratios = {
        "produce_ratio": medians["ours_per_s"] / medians["kafka_per_s"],
        "ledger_ratio": medians["ours_with_ledger_per_s"] / medians["ours_per_s"],
        "consume_ratio": medians["our_consumer_per_s"] / medians["kafka_consumer_per_s"],
    }
    rounded = {key: round(ratio, 3) for key, ratio in ratios.items()}
    print(json.dumps({"bench": "produce", "rounds": rounds, "records": records, **rounded, **medians}))


def one_round(folder: Path, bootstrap: str, number: int, records: int) -> dict[str, float]:
    """Every program once, each producer on a fresh topic."""
    ways: dict[str, Callable[[str], float]] = {
        "kafka": lambda topic: kafka_producer(bootstrap, topic, records),
        "ours": lambda topic: our_producer(folder / topic, bootstrap, topic, records, ledger=False),
        "ours_with_ledger": lambda topic: our_producer(folder / topic, bootstrap, topic, records, ledger=True),
    }
    rates = {}
    client = AdminClient({"bootstrap.servers": bootstrap})
    for key, send in ways.items():
        topic = f"{key}-{number}"
        client.create_topics([NewTopic(topic, 1, 1)])[topic].result()
        rates[key] = send(topic)
    rates["kafka_consumer"] = kafka_consumer(bootstrap, f"kafka-{number}", records)
    rates["our_consumer"] = our_consumer(folder / f"reading-{number}", bootstrap, f"kafka-{number}", records)
    for key in ways:
        client.delete_topics([f"{key}-{number}"])[f"{key}-{number}"].result()
    return rates


def kafka_tool(*words: str) -> str:
    """What one of Kafka's own programs says."""
    command = [*artifacts.kafka_command(artifacts.find_java()), "-Xmx512m", *words]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=LIMIT_S).stdout


def kafka_producer(bootstrap: str, topic: str, records: int) -> float:
    """Records a second, by its own word, from its first record on."""
    settings = {
        "bootstrap.servers": bootstrap,
        "acks": "all",
        "batch.size": BATCH_BYTES,
        "linger.ms": LINGER_MS,
        "buffer.memory": BUFFER_BYTES,
    }
    properties = [f"{key}={value}" for key, value in settings.items()]
    counts = ["--num-records", str(records), "--record-size", str(SIZE_BYTES), "--throughput", "-1"]
    said = kafka_tool("org.apache.kafka.tools.ProducerPerformance", "--topic", topic, *counts, "--producer-props", *properties)
    return float(said.strip().splitlines()[-1].split(" records/sec")[0].split()[-1])


def kafka_consumer(bootstrap: str, topic: str, records: int) -> float:
    """Records a second, by its own word, without the time that it takes to join its group."""
    words = ["--bootstrap-server", bootstrap, "--topic", topic, "--num-records", str(records), "--timeout", "20000"]
    said = kafka_tool("org.apache.kafka.tools.ConsumerPerformance", *words)
    names, values = (line.split(", ") for line in said.strip().splitlines()[-2:])
    return float(dict(zip(names, values, strict=True))["fetch.nMsg.sec"])


def our_producer(folder: Path, bootstrap: str, topic: str, records: int, *, ledger: bool) -> float:
    """Records a second, from when the load begins until the last one is acknowledged."""
    client = {"bootstrap.servers": bootstrap, "acks": "all", "batch.size": BATCH_BYTES, "linger.ms": LINGER_MS}
    buffer = {"queue.buffering.max.messages": BUFFER_BYTES // SIZE_BYTES, "queue.buffering.max.kbytes": BUFFER_BYTES >> 10}
    agent = begun(folder, "producer", {**ORDER, "count": records, "topics": [topic], "ledger": ledger, "client": {**client, **buffer}})
    start_ns = now_ns()
    write_whole(folder / "gates" / "load", json.dumps({"start_ns": start_ns}))
    wait_until(lambda: bool(gauge(folder).get("done")), limit_s=LIMIT_S, step_s=0.005)
    taken_s = (now_ns() - start_ns) / 1e9
    agent.wait()
    assert gauge(folder)["acked"] == records, gauge(folder)
    return records / taken_s


def our_consumer(folder: Path, bootstrap: str, topic: str, records: int) -> float:
    """Records a second between the first and the last gauge that shows some."""
    client = {"bootstrap.servers": bootstrap, "auto.offset.reset": "earliest"}
    consumers = [{"name": "agent", "group": topic, "host": "", "client": {"group.id": topic}}]
    order = {"consumers": consumers, "topics": [topic], "keep": False, "ledger": False, "client": client}
    agent = begun(folder, "consumer", order)
    seen: dict[int, float] = {}
    end = time.monotonic() + LIMIT_S
    while records not in seen and time.monotonic() < end:
        seen.setdefault(gauge(folder).get("seen", 0), time.monotonic())
        time.sleep(0.005)
    agent.terminate()
    agent.wait()
    counts = sorted(count for count in seen if count)
    return (counts[-1] - counts[0]) / (seen[counts[-1]] - seen[counts[0]])


def begun(folder: Path, agent: str, order: dict[str, Any]) -> subprocess.Popen[bytes]:
    """An agent that stands ready, in a folder that looks to it as a run's does."""
    for part in ("history", "gauges", "gates"):
        (folder / part).mkdir(parents=True)
    write_whole(folder / "gates" / "servers", "{}")
    environment = {**os.environ, "STREAMBED_RUN": str(folder), "STREAMBED_PROCESS": "agent", "STREAMBED_SEED": "1"}
    process = subprocess.Popen([sys.executable, "-m", f"streambed.agents.{agent}", json.dumps(order)], env=environment)
    wait_until(lambda: bool(gauge(folder).get("ready")) or process.poll() is not None, limit_s=LIMIT_S, step_s=0.005)
    assert process.poll() is None
    return process


def gauge(folder: Path) -> dict[str, Any]:
    """What the agent counted last."""
    return read_json(folder / "gauges" / "agent.json")


if __name__ == "__main__":
    words = parser(__doc__, quick="one round of 20,000 records")
    words.add_argument("rounds", nargs="?", type=int)
    asked = words.parse_args()
    if asked.quick:
        main(asked.rounds or 1, FEW_RECORDS, warm_up=0)
    else:
        main(asked.rounds or 3, RECORDS)
