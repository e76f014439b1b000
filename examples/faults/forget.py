"""Delete all records of a topic a while after the load began, as retention would.

forget.py BOOTSTRAP TOPIC SECONDS
"""

from __future__ import annotations

import sys
import time

from confluent_kafka import OFFSET_END, TopicPartition
from confluent_kafka.admin import AdminClient

bootstrap, topic, seconds = sys.argv[1:]
time.sleep(float(seconds))
client = AdminClient({"bootstrap.servers": bootstrap})
partitions = client.list_topics(topic).topics[topic].partitions
wanted = [TopicPartition(topic, number, OFFSET_END) for number in partitions]
for future in client.delete_records(wanted).values():
    print("the log begins at", future.result().low_watermark)
