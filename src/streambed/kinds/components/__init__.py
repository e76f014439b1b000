"""Components: what can run on the nodes."""

from streambed.kinds.components.command import Command
from streambed.kinds.components.component import Component
from streambed.kinds.components.consumer import Consumer
from streambed.kinds.components.hdfs.hdfs import Hdfs
from streambed.kinds.components.kafka.kafka import Kafka
from streambed.kinds.components.producer import Producer
from streambed.kinds.components.sink import Sink
from streambed.kinds.components.spark.cluster import SparkCluster
from streambed.kinds.components.spark.job import SparkJob
from streambed.kinds.components.stores.cassandra import Cassandra
from streambed.kinds.components.stores.embedded import Embedded
from streambed.kinds.components.stores.mariadb import MariaDB
from streambed.kinds.components.stores.mongodb import MongoDB
from streambed.kinds.components.stores.postgresql import PostgreSQL
from streambed.kinds.components.stores.redis import Redis
from streambed.kinds.components.traffic import Traffic

COMPONENTS: dict[str, type[Component]] = {
    "kafka": Kafka,
    "producer": Producer,
    "spark_job": SparkJob,
    "spark_cluster": SparkCluster,
    "hdfs": Hdfs,
    "consumer": Consumer,
    "traffic": Traffic,
    "command": Command,
    "postgresql": PostgreSQL,
    "mariadb": MariaDB,
    "cassandra": Cassandra,
    "redis": Redis,
    "mongodb": MongoDB,
    "embedded": Embedded,
    "sink": Sink,
}

__all__ = [
    "COMPONENTS",
    "Cassandra",
    "Command",
    "Consumer",
    "Embedded",
    "Hdfs",
    "Kafka",
    "MariaDB",
    "MongoDB",
    "PostgreSQL",
    "Producer",
    "Redis",
    "Sink",
    "SparkCluster",
    "SparkJob",
    "Traffic",
]
