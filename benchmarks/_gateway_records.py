"""Records of home gateways, for the pipeline benchmark."""

from __future__ import annotations

import time

from confluent_kafka import Producer

GATEWAYS = 200
COPIES = 200
"""One record in this many is sent twice."""
START_MS = 1_704_067_200_000
CHUNK_S = 0.01


def produce(bootstrap: str, topic: str, count: int, *, rate: float = 0.0) -> float:
    """Produce one record per gateway and minute, at a rate or as fast as possible. Returns when the
    first record was created.
    """
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "linger.ms": 20 if rate else 50,
            "queue.buffering.max.messages": 1_000_000,
        }
    )
    headers = [("schema", b"json.2")]
    begin, chunk = time.time(), int(rate * CHUNK_S) or count
    for number in range(count):
        if rate and number % chunk == 0 and (early := begin + number / rate - time.time()) > 0:
            time.sleep(early)
            producer.poll(0)
        key, value = record(number)
        while True:
            try:
                producer.produce(topic, value, key, headers=headers)
                break
            except BufferError:
                producer.poll(0.1)
    assert producer.flush(120) == 0
    return begin


def record(number: int) -> tuple[bytes, bytes]:
    """Key and value; for duplicates, those of the record sent just before."""
    number -= number % COPIES == COPIES - 1
    key = b"gw-%06d" % (number * 7 % GATEWAYS)
    date = START_MS + number // GATEWAYS * 60_000 + number % GATEWAYS
    return key, b'{"gateway_id":"%b","date":%d,"ipTx":%d.0,"ipRx":%d.0,"restarts":0}' % (
        key,
        date,
        number % 9973,
        number % 99991,
    )
