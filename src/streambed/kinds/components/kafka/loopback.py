"""A Kafka cluster reduced to one broker on this machine's loopback."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from streambed.kinds.components.kafka.topic import Topic
from streambed.kinds.components.plan_context import Loopback
from streambed.kinds.declaring import Setting

if TYPE_CHECKING:
    from streambed.kinds.components.kafka.kafka import Kafka

OF_SEVERAL_BROKERS = ("min.insync.replicas", "default.replication.factor")
"""Settings that one broker cannot meet."""


def on_loopback(kafka: Kafka, loopback: Loopback) -> Kafka:
    """One broker with the same topics, each with one replica."""
    port, controller_port = loopback.ports
    topics = {name: _on_one_broker(topic) for name, topic in kafka.topics.items()}
    for name, partitions in loopback.topics.items():
        topics[name] = Topic(partitions=partitions)
    return replace(
        kafka,
        nodes=(Loopback.host,),
        controllers=(),
        port=port,
        controller_port=controller_port,
        topics=topics,
        placement="kafka",
        settings=_of_one_broker(kafka.settings),
        settings_of={},
        racks={},
        limits=None,
    )


def _on_one_broker(topic: Topic) -> Topic:
    config = _of_one_broker(topic.config)
    return replace(topic, replicas=1, leaders=(), placement=None, config=config)


def _of_one_broker(settings: dict[str, Setting]) -> dict[str, Setting]:
    return {key: value for key, value in settings.items() if key not in OF_SEVERAL_BROKERS}
