"""Ship orders: read some, take a while, note them in SQLite; commit first, or last.

ship.py BOOTSTRAP STORE first|last
"""

from __future__ import annotations

import sqlite3
import sys
import time

from confluent_kafka import Consumer

CARRIER_S = 0.3
"""How long the work takes. A kill comes in this time, and seldom elsewhere."""
bootstrap, store, commits = sys.argv[1:]
consumer = Consumer(
    {
        "bootstrap.servers": bootstrap,
        "group.id": "shipper",
        "group.instance.id": "shipper",
        "session.timeout.ms": 6000,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
    }
)
consumer.subscribe(["orders"])
while True:
    orders = [order for order in consumer.consume(500, 0.01) if not order.error()]
    if not orders:
        continue
    if commits == "first":
        consumer.commit(asynchronous=False)
    time.sleep(CARRIER_S)
    with sqlite3.connect(store, timeout=30) as connection:
        rows = [(order.partition(), order.offset()) for order in orders]
        connection.executemany("insert into shipped values (?, ?)", rows)
    if commits == "last":
        consumer.commit(asynchronous=False)
