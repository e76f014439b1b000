"""A thermometer: sends a temperature ten times a second. Started as `python thermometer.py h7
1`.
"""

import sys
import time

from kafka import KafkaProducer

READINGS = 30

node, instance = sys.argv[1:]
producer = KafkaProducer(bootstrap_servers="10.0.0.2:9092", acks=1)
for number in range(READINGS):
    celsius = 5 - number * 0.4
    producer.send("readings", f"{node}-{instance},{number},{celsius:.1f}".encode())
    time.sleep(0.1)
producer.flush()
print(f"sent {READINGS} readings")
