"""Warns of frost: prints every temperature below zero. Started as `python frost.py h7 1`."""

import sys

from kafka import KafkaConsumer

node, instance = sys.argv[1:]
consumer = KafkaConsumer(
    "readings",
    bootstrap_servers="10.0.0.2:9092",
    group_id=f"frost-{node}-{instance}",
    auto_offset_reset="earliest",
)
for message in consumer:
    thermometer, number, celsius = message.value.decode().split(",")
    if float(celsius) < 0:
        print(f"frost at {thermometer}: {celsius} degrees, reading {number}")
