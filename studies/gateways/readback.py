"""Check that Kafka holds every record that a client's ledger has as acknowledged.

python readback.py BOOTSTRAP TOPIC LEDGER
"""

from __future__ import annotations

import sys
import time

import polars as pl
from confluent_kafka import Consumer, TopicPartition

from gateway_traffic.codecs import decode
from gateway_traffic.records import ENCODINGS, SCHEMA_HEADER

LIMIT_S = 60.0


def main(bootstrap: str, topic: str, ledger: str) -> int:
    """Print the counts; return 0 if nothing is lost."""
    acked = pl.read_parquet(ledger).filter(pl.col("acked").is_not_null())
    wanted = set(acked.select("gateway_id", "date").iter_rows())
    consumer = Consumer(
        {"bootstrap.servers": bootstrap, "group.id": "readback", "enable.auto.commit": False}
    )
    parts = [
        TopicPartition(topic, part, 0)
        for part in consumer.list_topics(topic, timeout=30).topics[topic].partitions
    ]
    left = {part.partition: consumer.get_watermark_offsets(part, timeout=30)[1] for part in parts}
    consumer.assign(parts)
    records: set[tuple[str, int]] = set()
    read, end = 0, time.monotonic() + LIMIT_S
    while any(left.values()) and time.monotonic() < end:
        for message in consumer.consume(5000, 1.0):
            encoding = dict(message.headers())[SCHEMA_HEADER].decode()
            record = decode(message.value(), ENCODINGS[encoding])
            records.add((record.gateway_id, record.date))
            read += 1
            left[message.partition()] = max(0, left[message.partition()] - 1)
    consumer.close()
    lost = wanted - records
    print(
        f"{len(wanted)} acknowledged, {len(lost)} of them lost; {read} in the log, "
        f"{read - len(records)} of them twice"
    )
    return bool(lost)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
