"""Components: what can run on the nodes."""

from streambed.kinds.components.command import Command
from streambed.kinds.components.consumer import Consumer
from streambed.kinds.components.kafka import Kafka
from streambed.kinds.components.producer import Producer
from streambed.kinds.components.spark_job import SparkJob
from streambed.kinds.components.traffic import Traffic

COMPONENTS = {
    "kafka": Kafka,
    "producer": Producer,
    "spark_job": SparkJob,
    "consumer": Consumer,
    "traffic": Traffic,
    "command": Command,
}

__all__ = ["COMPONENTS", "Command", "Consumer", "Kafka", "Producer", "SparkJob", "Traffic"]
