"""Throughput and latency of the counter job from Kafka into a store.

    scripts/bench pipeline [--quick]

Five million JSON records of 200 gateways are in two partitions, one in 200 of them twice. The job
drains them into the embedded store with duplicates removed, then without looking for them, then
into Cassandra with duplicates removed, and a plain confluent-kafka loop in one Python process
computes the same sums. Rates count from the start of the first batch to the end of the last one,
without Spark's start. Then records arrive at a steady rate for two minutes after half a minute of
warm-up: `steady_per_s` is that rate if the lag does not grow, by the 95 % interval of its slope,
otherwise 0; then the same without looking for duplicates. At half of that rate the latency of a
record is measured, from its creation to the end of the batch that stores it. One broker, the job
and the producer share this machine. A measurement with stolen CPU time is repeated; `stolen_share`
is the largest stolen share of those that count. The last line is one JSON object. It takes about
nine minutes, longer on a busy machine. `--quick`: 20,000 records drained into the embedded store,
then two seconds at a low rate.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import orjson
from confluent_kafka import Consumer, TopicPartition

from benchmarks._arguments import parser
from benchmarks._calm import calmest
from benchmarks._gateway_records import COPIES, produce
from gateway_traffic.errors import NoStoreError
from gateway_traffic.ingest.forwarder import make_topics
from gateway_traffic.records import DAY_MS
from gateway_traffic.stores.opening import open_store
from streambed import artifacts, units
from streambed.kinds.components.spark.cluster import flags_for
from streambed.kinds.components.spark.job import DRIVER
from streambed.record.codec import write_message
from streambed.record.orders import SparkDriverOrder
from tests.support.lone_broker import lone_broker

ROOT = Path(__file__).parents[1]
TOPIC = "traffic-counter"
BATCH = 1_000_000
HEAP = units.Size(3 << 30)
BATCHES_MIN = 3
"""The fewest points that give a slope and its interval."""
CALM_SHARE = 0.05
"""Measurements with a larger share of stolen CPU time are repeated."""
Found = TypeVar("Found")


class Size(NamedTuple):
    """How much is measured."""

    records: int
    rate: int
    warm_s: int
    steady_s: int
    half_s: int
    tries: int
    """Most tries of a measurement with stolen CPU time."""


class Span(NamedTuple):
    """A batch: when it began and ended, and how many records it had."""

    begin: float
    end: float
    records: int


WHOLE = Size(records=5_000_000, rate=60_000, warm_s=30, steady_s=120, half_s=40, tries=2)
QUICK = Size(records=20_000, rate=1_000, warm_s=1, steady_s=0, half_s=2, tries=1)


def main(size: Size, *, quick: bool) -> None:
    """Measure everything once; the quick form leaves out what takes minutes, or differs only by its
    store or by an option.
    """
    with (
        tempfile.TemporaryDirectory() as name,
        lone_broker(Path(name) / "kafka", flags=["-Xmx512m"]) as broker,
    ):
        folder = Path(name)
        make_topics(broker.bootstrap, [TOPIC], partitions=2, replicas=1, within_s=30.0)
        produce(broker.bootstrap, TOPIC, size.records)
        calm = Calm(folder, broker.bootstrap, size)
        plain_per_s = round(calm(plain, "plain"))
        drain_per_s = round(calm(drained, "once"))
        figures: dict[str, float | None] = {"plain_per_s": plain_per_s, "drain_per_s": drain_per_s}
        figures["vs_plain"] = round(drain_per_s / plain_per_s, 3)
        figures |= {} if quick else calm(steady, "steady") | variants(calm, folder)
        figures |= calm(latencies, "half")
    print(
        json.dumps(
            {
                "bench": "pipeline",
                "records": size.records,
                **figures,
                "stolen_share": calm.stolen_share,
            }
        )
    )


def variants(calm: Calm, folder: Path) -> dict[str, float | None]:
    """The job without looking for duplicates, and into Cassandra."""
    from tests.support.lone_cassandra import lone_cassandra

    figures: dict[str, float | None] = {
        "drain_with_duplicates_per_s": round(calm(drained, "twice", "--duplicates"))
    }
    with lone_cassandra(folder / "cassandra") as server:
        figures["cassandra_per_s"] = round(
            calm(drained, "ring", store=f"cassandra://{server.address}")
        )
    double = calm(steady, "double", "--duplicates")
    return figures | {
        "steady_with_duplicates_per_s": double["steady_per_s"],
        "lag_records_with_duplicates": double["lag_records"],
    }


class Calm:
    """Repeats measurements with stolen CPU time; `stolen_share` is the largest share of those that
    count.
    """

    def __init__(self, folder: Path, bootstrap: str, size: Size) -> None:
        self._folder, self._bootstrap, self._size = folder, bootstrap, size
        self.stolen_share = 0.0

    def __call__(
        self, measure: Callable[..., Found], name: str, *options: str, **more: str
    ) -> Found:
        """Measure; each try has its own folder."""

        def once(number: int) -> Found:
            return measure(
                self._folder / f"{name}{number}", self._bootstrap, self._size, *options, **more
            )

        tried = calmest(once, enough=CALM_SHARE, tries=self._size.tries)
        self.stolen_share = max(self.stolen_share, tried.stolen_share)
        return tried.found


def plain(_: Path, bootstrap: str, size: Size) -> float:
    """Records per second of a loop that sums and removes duplicates."""
    consumer = Consumer(
        {"bootstrap.servers": bootstrap, "group.id": "plain", "enable.auto.commit": False}
    )
    consumer.assign([TopicPartition(TOPIC, partition, 0) for partition in range(2)])
    seen: set[tuple[str, int]] = set()
    sums: dict[tuple[str, int], list[float]] = defaultdict(lambda: [0.0, 0.0])
    read, began = 0, time.monotonic()
    while read < size.records:
        for message in consumer.consume(10_000, 1.0):
            read += 1
            fields = orjson.loads(message.value())
            identity = fields["gateway_id"], fields["date"]
            if identity not in seen:
                seen.add(identity)
                total = sums[identity[0], identity[1] // DAY_MS]
                total[0] += fields["ipTx"]
                total[1] += fields["ipRx"]
    rate = size.records / (time.monotonic() - began)
    consumer.close()
    return rate


def drained(folder: Path, bootstrap: str, size: Size, *options: str, store: str = "") -> float:
    """Records per second of the job over all waiting records, into a new database."""
    address = f"{store}/{folder.name}" if store else f"{folder}/traffic.db"
    with job(
        folder, bootstrap, address, "--trigger", "once", "--offsets-per-batch", str(BATCH), *options
    ) as process:
        assert process.wait() == 0, (folder / "log").read_text()[-2000:]
    wanted = size.records if "--duplicates" in options else size.records - size.records // COPIES
    assert stored(address) == wanted, (stored(address), wanted)
    spans = batches(folder)
    rate = sum(span.records for span in spans) / (spans[-1].end - spans[0].begin)
    print(
        folder.name,
        round(rate),
        [(span.records, round(span.end - span.begin, 1)) for span in spans],
        file=sys.stderr,
    )
    return rate


def steady(folder: Path, bootstrap: str, size: Size, *options: str) -> dict[str, float | None]:
    """The lag's slope at a steady rate, in records per second; None if batches were too few."""
    spans, begin = flowing(folder, bootstrap, size.rate, size.warm_s + size.steady_s, *options)
    done = np.cumsum([span.records for span in spans])
    ends = np.array([span.end for span in spans]) - begin
    lags = size.rate * ends - done
    chosen = (ends > size.warm_s) & (ends < size.warm_s + size.steady_s)
    batches_seen = int(chosen.sum())
    if batches_seen < BATCHES_MIN:
        return {
            "steady_per_s": 0,
            "lag_slope": None,
            "lag_slope_95": None,
            "lag_records": None,
            "steady_batches": batches_seen,
        }
    slope, margin = slope_of(ends[chosen], lags[chosen])
    holds = slope - margin <= 0
    figures = {
        "steady_per_s": size.rate if holds else 0,
        "lag_slope": round(slope),
        "lag_slope_95": round(margin),
    }
    return figures | {
        "lag_records": round(float(np.median(lags[chosen]))),
        "steady_batches": batches_seen,
    }


def latencies(folder: Path, bootstrap: str, size: Size) -> dict[str, float | None]:
    """From a record's creation to the end of its batch, at half of the rate; None if no batch with
    records from after the warm-up ended.
    """
    rate = size.rate // 2
    spans, begin = flowing(folder, bootstrap, rate, size.warm_s + size.half_s)
    ends = np.repeat([span.end for span in spans], [span.records for span in spans])
    made = begin + np.arange(len(ends)) / rate
    waited = (ends - made)[made > begin + size.warm_s]
    if not len(waited):
        return {"half_per_s": rate, "half_p50_ms": None, "half_p99_ms": None}
    p50, p99 = np.percentile(waited, [50, 99]) * 1000
    return {"half_per_s": rate, "half_p50_ms": round(p50), "half_p99_ms": round(p99)}


def flowing(
    folder: Path, bootstrap: str, rate: int, lasts_s: int, *options: str
) -> tuple[list[Span], float]:
    """The batches while records arrive at a rate, and when the first record was created. The job
    has started before.
    """
    topic = folder.name
    make_topics(bootstrap, [topic], partitions=2, replicas=1, within_s=30.0)
    with job(
        folder,
        bootstrap,
        f"{folder}/traffic.db",
        "--topic",
        topic,
        "--trigger",
        "200 milliseconds",
        *options,
    ) as process:
        produce(bootstrap, topic, COPIES)
        until(lambda: process.poll() is not None or stored(f"{folder}/traffic.db") > 0)
        begin = produce(bootstrap, topic, rate * lasts_s, rate=rate)
        until(
            lambda: (
                process.poll() is not None
                or stored(f"{folder}/traffic.db") >= rate * lasts_s * (1 - 1 / COPIES)
            ),
            within_s=120,
        )
        assert process.poll() is None, (folder / "log").read_text()[-2000:]
    return [span for span in batches(folder) if span.begin >= begin - 0.2 and span.records], begin


@contextmanager
def job(
    folder: Path, bootstrap: str, store: str, *options: str
) -> Iterator[subprocess.Popen[bytes]]:
    """The job, as streambed's spark_job starts a script with `start: steady`; it is killed after
    the block.
    """
    (folder / "run" / "gates").mkdir(parents=True)
    (folder / "run" / "gates" / "servers").touch()
    words = [
        "--bootstrap",
        bootstrap,
        "--version",
        "counter",
        "--checkpoint",
        f"{folder}/checkpoint",
        "--store",
        store,
        "--no-tops",
    ]
    java = artifacts.spark_command(
        artifacts.find_java(),
        pyspark_home=artifacts.find_pyspark(),
        flags=flags_for("steady", HEAP),
    )
    order = SparkDriverOrder(
        java=tuple(java),
        settings={
            "spark.master": "local[2]",
            "spark.eventLog.enabled": "true",
            "spark.eventLog.dir": f"{folder}/events",
            "spark.eventLog.rolling.enabled": "false",
            "spark.eventLog.compress": "false",
            "spark.ui.enabled": "false",
        },
        job=str(ROOT / "src" / "gateway_traffic" / "__main__.py"),
        args=("job", *words, *options),
    )  # fmt: skip
    write_message(folder / "order.json", order)
    environment = {**os.environ, "STREAMBED_RUN": f"{folder}/run", "STREAMBED_PROCESS": "job"}
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, DRIVER, str(folder / "order.json")],
            stdout=log,
            stderr=log,
            env=environment,
            cwd=folder,
        )
        try:
            yield process
        finally:
            process.kill()
            process.wait()


def batches(folder: Path) -> list[Span]:
    """Batches of the traffic query, from Spark's event log."""
    spans = []
    for line in next((folder / "events").iterdir()).read_text().splitlines():
        if "QueryProgressEvent" in line[:200]:
            event: dict[str, Any] = json.loads(line)
            progress = (
                json.loads(event["progress"])
                if isinstance(event["progress"], str)
                else event["progress"]
            )
            took_s = progress["durationMs"].get("triggerExecution", 0) / 1000
            records = sum(source["numInputRows"] for source in progress["sources"])
            begin = datetime.fromisoformat(progress["timestamp"]).timestamp()
            spans.append(Span(begin, begin + took_s, records))
    return spans


def stored(address: str) -> int:
    """How many records a store has; 0 before the job has created it."""
    try:
        store = open_store(address, read_only=True)
    except NoStoreError:
        return 0
    try:
        return sum(day.records for day in store.days())
    finally:
        store.close()


def slope_of(times: np.ndarray, lags: np.ndarray) -> tuple[float, float]:
    """Least-squares slope and half of its 95 % interval."""
    centred = times - times.mean()
    slope = float(centred @ lags / (centred @ centred))
    residuals = lags - lags.mean() - slope * centred
    return slope, 1.96 * float(
        np.sqrt(residuals @ residuals / (len(times) - 2) / (centred @ centred))
    )


def until(condition: Any, *, within_s: float = 60.0) -> None:
    """Wait for a condition."""
    end = time.monotonic() + within_s
    while not condition() and time.monotonic() < end:
        time.sleep(0.1)


if __name__ == "__main__":
    asked = parser(__doc__, quick="20 thousand records, and two seconds at a low rate").parse_args()
    main(QUICK if asked.quick else WHOLE, quick=asked.quick)
