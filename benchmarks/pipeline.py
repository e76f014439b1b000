"""How many records a second the counter job drains from Kafka into the embedded store.

    scripts/bench pipeline [--quick]

Five million records of 200 gateways wait in two partitions (with --quick 500 thousand), in JSON. The job takes them once with duplicates
removed and once without, and a plain loop of confluent-kafka in one process of Python does the same sums. Rates are of the job's own
time from its first batch's start to its last batch's end, without Spark's start. The last line is one JSON object.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from datetime import datetime
from pathlib import Path

import orjson
from confluent_kafka import Consumer, Producer, TopicPartition

from gateway_traffic.ingest.forwarder import make_topics
from gateway_traffic.records import DAY_MS
from gateway_traffic.stores.sqlite import SqliteStore
from streambed import artifacts
from streambed.lone_broker import lone_broker

ROOT = Path(__file__).parents[1]
TOPIC = "traffic-counter"
GATEWAYS = 200
START_MS = 1_704_067_200_000
BATCH = 1_000_000


def main(count: int) -> None:
    with tempfile.TemporaryDirectory() as name, lone_broker(Path(name) / "kafka") as broker:
        make_topics(broker.bootstrap, [TOPIC], partitions=2, replicas=1, within_s=30.0)
        load(broker.bootstrap, count)
        figures = {"plain_per_s": plain(broker.bootstrap, count)}
        figures["drain_per_s"] = drain(Path(name) / "once", broker.bootstrap, count)
        figures["drain_with_duplicates_per_s"] = drain(Path(name) / "twice", broker.bootstrap, count, "--duplicates")
    rounded = {key: round(value) for key, value in figures.items()}
    print(
        json.dumps(
            {"bench": "pipeline", "records": count, **rounded, "vs_plain": round(figures["drain_per_s"] / figures["plain_per_s"], 3)}
        )
    )


def load(bootstrap: str, count: int) -> None:
    """Each gateway reports once a minute."""
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 50, "queue.buffering.max.messages": 1_000_000})
    for number in range(count):
        key = f"gw-{number % GATEWAYS:06d}"
        date = START_MS + number // GATEWAYS * 60_000
        value = b'{"gateway_id":"%b","date":%d,"ipTx":%d.0,"ipRx":%d.0,"restarts":0}' % (key.encode(), date, number % 9973, number % 99991)
        while True:
            try:
                producer.produce(TOPIC, value, key, headers=[("schema", b"json.2")])
                break
            except BufferError:
                producer.poll(0.1)
    assert producer.flush(120) == 0


def plain(bootstrap: str, count: int) -> float:
    """Records a second of a loop that sums and removes duplicates."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "plain", "enable.auto.commit": False})
    consumer.assign([TopicPartition(TOPIC, partition, 0) for partition in range(2)])
    seen: set[tuple[str, int]] = set()
    sums: dict[tuple[str, int], list[float]] = defaultdict(lambda: [0.0, 0.0])
    began = time.monotonic()
    while len(seen) < count:
        for message in consumer.consume(10_000, 1.0):
            record = orjson.loads(message.value())
            identity = record["gateway_id"], record["date"]
            if identity not in seen:
                seen.add(identity)
                total = sums[identity[0], identity[1] // DAY_MS]
                total[0] += record["ipTx"]
                total[1] += record["ipRx"]
    rate = count / (time.monotonic() - began)
    consumer.close()
    return rate


def drain(folder: Path, bootstrap: str, count: int, *options: str) -> float:
    """Records a second of the job, by its event log."""
    (folder / "run" / "gates").mkdir(parents=True)
    (folder / "run" / "gates" / "servers").touch()
    words = ["--bootstrap", bootstrap, "--version", "counter", "--checkpoint", f"{folder}/checkpoint", "--store", f"{folder}/traffic.db"]
    flags = [flag for flag in artifacts.SPARK_FLAGS if not flag.startswith("-XX:TieredStopAtLevel")]
    order = {
        "java": artifacts.spark_command(artifacts.find_java(), pyspark_home=artifacts.find_pyspark(), flags=[*flags, "-Xmx4g"]),
        "settings": {"spark.master": "local[2]", "spark.eventLog.enabled": "true", "spark.eventLog.dir": f"{folder}/events",
                     "spark.eventLog.rolling.enabled": "false", "spark.eventLog.compress": "false", "spark.ui.enabled": "false"},
        "job": str(ROOT / "src" / "gateway_traffic" / "__main__.py"),
        "args": ["job", *words, "--trigger", "once", "--offsets-per-batch", str(BATCH), "--no-tops", *options],
    }  # fmt: skip
    driver = Path(artifacts.__file__).parent / "agents" / "spark_driver.py"
    environment = {**os.environ, "STREAMBED_RUN": f"{folder}/run", "STREAMBED_PROCESS": "job"}
    subprocess.run([sys.executable, driver, json.dumps(order)], check=True, stdout=sys.stderr, env=environment, cwd=folder)
    store = SqliteStore(folder / "traffic.db")
    assert sum(day.records for day in store.days()) == count, store.days()
    store.close()
    return count / seconds(folder / "events")


def seconds(events: Path) -> float:
    """From the start of the traffic query's first batch to the end of its last."""
    spans = []
    for line in next(events.iterdir()).read_text().splitlines():
        event = json.loads(line)
        if event["Event"].endswith("QueryProgressEvent"):
            progress = json.loads(event["progress"]) if isinstance(event["progress"], str) else event["progress"]
            if progress["name"] == "counter-traffic":
                start = datetime.fromisoformat(progress["timestamp"]).timestamp()
                spans.append((start, start + progress["durationMs"]["triggerExecution"] / 1000))
    return max(end for _, end in spans) - min(start for start, _ in spans)


if __name__ == "__main__":
    main(500_000 if "--quick" in sys.argv[1:] else 5_000_000)
