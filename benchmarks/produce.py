"""Throughput of the built-in producer and consumer, compared with Kafka's own performance tools.

    scripts/bench produce [--quick] [ROUNDS]

One broker on loopback, one topic with one partition, records of 200 bytes, acks=all. Each round
sends the same number of records with Kafka's ProducerPerformance, with our producer without a
ledger and with one, then reads those of the last with ConsumerPerformance, with a bare loop around
confluent-kafka, and with our consumer without a ledger and with one, in turn. The last line is one
JSON object with medians. `produce_ratio` is ours without a ledger divided by Kafka's,
`consume_ratio` ours without a ledger divided by the bare loop's; `ledger_ratio` and
`read_ledger_ratio` are ours with a ledger divided by ours without. `--quick`: one round of 20,000
records, without Java's warm-up.
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

from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from benchmarks._arguments import parser
from streambed import artifacts
from streambed.kinds.components.kafka.clients import READER, SENDER, client_settings
from streambed.kinds.declaring import Setting
from streambed.record import codec, now_ns, wait_until, write_whole
from streambed.record.gauges import Gauge, ProducerGauge, ReaderGauge, read_gauge
from streambed.record.orders import (
    ConsumerMember,
    ConsumerOrder,
    ProducerMember,
    ProducerOrder,
    RecordsOrder,
    ScheduleOrder,
)
from tests.support.lone_broker import lone_broker

RECORDS, FEW_RECORDS = 1_000_000, 20_000
SIZE_BYTES = 200
LIMIT_S = 90
BATCH_BYTES, LINGER_MS, BUFFER_BYTES = 1_000_000, 5, 256 << 20


def main(rounds: int, records: int, warm_up: int = 1) -> None:
    """Alternate, so that other load on the machine affects all alternatives. The first rounds,
    which warm up Java, are not counted.
    """
    with (
        tempfile.TemporaryDirectory() as name,
        lone_broker(Path(name) / "kafka", flags=["-Xmx512m"]) as broker,
    ):
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
        "consume_ratio": medians["our_consumer_per_s"] / medians["bare_consumer_per_s"],
        "read_ledger_ratio": medians["our_consumer_with_ledger_per_s"]
        / medians["our_consumer_per_s"],
    }
    rounded = {key: round(ratio, 3) for key, ratio in ratios.items()}
    print(
        json.dumps({"bench": "produce", "rounds": rounds, "records": records, **rounded, **medians})
    )


def one_round(folder: Path, bootstrap: str, number: int, records: int) -> dict[str, float]:
    """Every program once, each producer on a fresh topic."""
    ways: dict[str, Callable[[str], float]] = {
        "kafka": lambda topic: kafka_producer(bootstrap, topic, records),
        "ours": lambda topic: our_producer(folder / topic, bootstrap, topic, records, ledger=False),
        "ours_with_ledger": lambda topic: our_producer(
            folder / topic, bootstrap, topic, records, ledger=True
        ),
    }
    rates = {}
    client = AdminClient({"bootstrap.servers": bootstrap})
    for key, send in ways.items():
        topic = f"{key}-{number}"
        client.create_topics([NewTopic(topic, 1, 1)])[topic].result()
        rates[key] = send(topic)
    topic = f"ours_with_ledger-{number}"
    rates["kafka_consumer"] = kafka_consumer(bootstrap, topic, records)
    rates["bare_consumer"] = bare_consumer(bootstrap, topic, records)
    for key, ledger in (("our_consumer", False), ("our_consumer_with_ledger", True)):
        place = folder / f"{key}-{number}"
        rates[key] = our_consumer(place, bootstrap, topic, records, ledger=ledger)
    for key in ways:
        client.delete_topics([f"{key}-{number}"])[f"{key}-{number}"].result()
    return rates


def kafka_tool(*words: str) -> str:
    """The output of one of Kafka's performance tools."""
    command = [*artifacts.kafka_command(artifacts.find_java()), "-Xmx512m", *words]
    return subprocess.run(
        command, capture_output=True, text=True, check=True, timeout=LIMIT_S
    ).stdout


def kafka_producer(bootstrap: str, topic: str, records: int) -> float:
    """Records per second that the tool reports, from its first record on."""
    settings = {
        "bootstrap.servers": bootstrap,
        "acks": "all",
        "batch.size": BATCH_BYTES,
        "linger.ms": LINGER_MS,
        "buffer.memory": BUFFER_BYTES,
    }
    properties = [f"{key}={value}" for key, value in settings.items()]
    counts = ["--num-records", str(records), "--record-size", str(SIZE_BYTES), "--throughput", "-1"]
    output = kafka_tool(
        "org.apache.kafka.tools.ProducerPerformance",
        "--topic",
        topic,
        *counts,
        "--producer-props",
        *properties,
    )
    return float(output.strip().splitlines()[-1].split(" records/sec")[0].split()[-1])


def kafka_consumer(bootstrap: str, topic: str, records: int) -> float:
    """Records per second that the tool reports, without the time to join its group."""
    words = [
        "--bootstrap-server",
        bootstrap,
        "--topic",
        topic,
        "--num-records",
        str(records),
        "--timeout",
        "20000",
    ]
    output = kafka_tool("org.apache.kafka.tools.ConsumerPerformance", *words)
    names, values = (line.split(", ") for line in output.strip().splitlines()[-2:])
    return float(dict(zip(names, values, strict=True))["fetch.nMsg.sec"])


def our_producer(folder: Path, bootstrap: str, topic: str, records: int, *, ledger: bool) -> float:
    """Records per second, from the start of the load to the last acknowledgement."""
    settings: dict[str, Setting] = {
        "acks": "all",
        "batch.size": BATCH_BYTES,
        "linger.ms": LINGER_MS,
        "queue.buffering.max.messages": BUFFER_BYTES // SIZE_BYTES,
        "queue.buffering.max.kbytes": BUFFER_BYTES >> 10,
    }
    order = ProducerOrder(
        sender=SENDER,
        members=(ProducerMember(name="poet"),),
        records=RecordsOrder(topics=(topic,), size=SIZE_BYTES),
        schedule=ScheduleOrder(rate=None, duration_ns=LIMIT_S * 10**9, count=records),
        client=client_settings(bootstrap, settings),
        ledger=ledger,
    )
    agent = begun(folder, "producer.main", order)
    start_ns = now_ns()
    write_whole(folder / "gates" / "load", json.dumps({"start_ns": start_ns}))
    wait_until(lambda: gauge(folder).done, limit_s=LIMIT_S, step_s=0.005)
    taken_s = (now_ns() - start_ns) / 1e9
    agent.wait()
    counted = gauge(folder)
    assert isinstance(counted, ProducerGauge) and counted.acked == records, counted
    return records / taken_s


def bare_consumer(bootstrap: str, topic: str, records: int) -> float:
    """Records per second of a loop that only counts, in a separate process as our consumer is."""
    command = [sys.executable, "-m", "benchmarks._bare_consumer", bootstrap, topic, str(records)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(done.stdout)


def our_consumer(folder: Path, bootstrap: str, topic: str, records: int, *, ledger: bool) -> float:
    """Records per second between the first and the last gauge with records."""
    group = folder.name
    order = ConsumerOrder(
        reader=READER,
        members=(ConsumerMember(name="agent", group=group, client={"group.id": group}),),
        topics=(topic,),
        client=client_settings(bootstrap, {"auto.offset.reset": "earliest"}),
        ledger=ledger,
    )
    agent = begun(folder, "consumer", order)
    seen: dict[int, float] = {}
    end = time.monotonic() + LIMIT_S
    while records not in seen and time.monotonic() < end:
        counted = gauge(folder)
        seen.setdefault(counted.seen if isinstance(counted, ReaderGauge) else 0, time.monotonic())
        time.sleep(0.005)
    agent.terminate()
    agent.wait()
    counts = sorted(count for count in seen if count)
    first = counts[0] if len(counts) > 1 else 0
    return (counts[-1] - first) / (seen[counts[-1]] - seen[first])


def begun(
    folder: Path, agent: str, order: ProducerOrder | ConsumerOrder
) -> subprocess.Popen[bytes]:
    """Start an agent in a folder like that of a run, and wait until it is ready."""
    for part in ("history", "gauges", "orders", "gates"):
        (folder / part).mkdir(parents=True)
    codec.write_message(folder / "orders" / "agent.json", order)
    write_whole(folder / "gates" / "servers", "{}")
    environment = {
        **os.environ,
        "STREAMBED_RUN": str(folder),
        "STREAMBED_PROCESS": "agent",
        "STREAMBED_SEED": "1",
    }
    command = [
        sys.executable,
        "-m",
        f"streambed.agents.{agent}",
        str(folder / "orders" / "agent.json"),
    ]
    process = subprocess.Popen(command, env=environment)
    wait_until(
        lambda: gauge(folder).ready or process.poll() is not None, limit_s=LIMIT_S, step_s=0.005
    )
    assert process.poll() is None
    return process


def gauge(folder: Path) -> Gauge:
    """The last gauge of the agent."""
    return read_gauge(folder / "gauges" / "agent.json") or Gauge()


if __name__ == "__main__":
    words = parser(__doc__, quick="one round of 20,000 records")
    words.add_argument("rounds", nargs="?", type=int)
    asked = words.parse_args()
    if asked.quick:
        main(asked.rounds or 1, FEW_RECORDS, warm_up=0)
    else:
        main(asked.rounds or 3, RECORDS)
