"""Send readings at a fixed rate, each with the time that this program's clock shows.

meter.py BOOTSTRAP TOPIC RATE SECONDS

It uses the client in pure Python: while the wall clock is ahead, librdkafka waits too long.
"""

from __future__ import annotations

import sys
import time

from kafka import KafkaProducer

bootstrap, topic, rate, seconds = sys.argv[1:]
producer = KafkaProducer(bootstrap_servers=bootstrap.split(","), linger_ms=5)
start = time.monotonic()
for number in range(int(rate) * int(seconds)):
    time.sleep(max(0.0, start + number / int(rate) - time.monotonic()))
    value = f"reading {number}".encode()
    producer.send(topic, value, partition=number % 2, timestamp_ms=int(time.time() * 1000))
producer.flush()
