"""Components: what can run on the nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from streambed.kinds.kind_table import KindTable

if TYPE_CHECKING:
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

COMPONENTS: KindTable[Component] = KindTable(
    "streambed.kinds.components",
    {
        "kafka": "kafka.kafka:Kafka",
        "producer": "producer:Producer",
        "spark_job": "spark.job:SparkJob",
        "spark_cluster": "spark.cluster:SparkCluster",
        "hdfs": "hdfs.hdfs:Hdfs",
        "consumer": "consumer:Consumer",
        "traffic": "traffic:Traffic",
        "command": "command:Command",
        "postgresql": "stores.postgresql:PostgreSQL",
        "mariadb": "stores.mariadb:MariaDB",
        "cassandra": "stores.cassandra:Cassandra",
        "redis": "stores.redis:Redis",
        "mongodb": "stores.mongodb:MongoDB",
        "embedded": "stores.embedded:Embedded",
        "sink": "sink:Sink",
    },
)

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


if not TYPE_CHECKING:  # With it in sight, mypy would take any misspelt name for Any.

    def __getattr__(name: str) -> Any:
        return COMPONENTS.class_called(name)
