"""The smallest consumer in Python: it takes batches from confluent-kafka and counts them.

python -m benchmarks._bare_consumer BOOTSTRAP TOPIC RECORDS      prints records a second
"""

from __future__ import annotations

import sys
import time

from confluent_kafka import Consumer

BATCH = 10_000
LIMIT_S = 90


def rate(bootstrap: str, topic: str, records: int) -> float:
    """Records a second between the first batch and the last."""
    settings: dict[str, str | int | float | bool | None] = {
        "bootstrap.servers": bootstrap,
        "group.id": f"bare-{topic}",
        "auto.offset.reset": "earliest",
    }
    consumer = Consumer(settings)
    consumer.subscribe([topic])
    first_count = count = 0
    began = last = 0.0
    end = time.monotonic() + LIMIT_S
    while count < records and time.monotonic() < end:
        first = consumer.poll(0.1)
        if first is None:
            continue
        count += 1 + len(consumer.consume(BATCH - 1, 0))
        last = time.monotonic()
        if not began:
            began, first_count = last, count
    consumer.close()
    return (count - first_count) / max(last - began, 1e-3)


if __name__ == "__main__":
    print(rate(sys.argv[1], sys.argv[2], int(sys.argv[3])))
