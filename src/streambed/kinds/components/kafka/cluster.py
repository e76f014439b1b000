"""A client's view of a running Kafka cluster: brokers, leaders of topics, and end offsets."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass

from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    ClusterMetadata,
    NewTopic,
    OffsetSpec,
    PartitionMetadata,
)

METADATA_LIMIT_S = 0.5


@dataclass(frozen=True, kw_only=True)
class TopicSpec:
    """A topic as Kafka should create it.

    `assignment` has the brokers of each partition, the leader first; empty if Kafka may decide.
    """

    partitions: int
    replicas: int
    config: dict[str, str]
    assignment: list[list[int]]

    def new(self, name: str) -> NewTopic:
        """The request to create it. Kafka takes an assignment or a number of replicas, not both."""
        if self.assignment:
            return NewTopic(
                name, self.partitions, replica_assignment=self.assignment, config=self.config
            )
        return NewTopic(name, self.partitions, self.replicas, config=self.config)


class KafkaCluster:
    """An admin client. Construct it inside a host: its threads then use that host's network."""

    def __init__(self, bootstrap: str) -> None:
        self._client = AdminClient(
            {
                "bootstrap.servers": bootstrap,
                "log_level": 0,
                "reconnect.backoff.max.ms": 200,
                "socket.connection.setup.timeout.ms": 3000,
            }
        )
        self._requested: set[str] = set()

    def _view(self) -> ClusterMetadata | None:
        try:
            return self._client.list_topics(timeout=METADATA_LIMIT_S)
        except KafkaException:
            return None

    def missing(self, *, brokers: int, topics: dict[str, TopicSpec]) -> str:
        """Create the topics once all brokers answer; say what is still missing, if anything."""
        view = self._view()
        answering = len(view.brokers) if view else 0
        if view is None or answering < brokers:
            return f"{answering} of {brokers} brokers answer"
        self._create({name: spec for name, spec in topics.items() if name not in self._requested})
        in_sync = {
            name: sum(map(_is_in_sync, topic.partitions.values()))
            for name, topic in view.topics.items()
        }
        lacking = [name for name, spec in topics.items() if in_sync.get(name, 0) < spec.partitions]
        if not lacking:
            return ""
        return f"no leader yet, or not all replicas in sync, for {', '.join(lacking)}"

    def _create(self, topics: dict[str, TopicSpec]) -> None:
        if not topics:
            return
        new = [spec.new(name) for name, spec in topics.items()]
        for future in self._client.create_topics(new, operation_timeout=5).values():
            future.result()
        self._requested |= set(topics)

    def end_offsets(self, topics: list[str]) -> dict[str, dict[int, int | None]]:
        """The next offset of each partition; None for a partition without a leader.

        Empty if the cluster does not answer at all.
        """
        view = self._view()
        if view is None:
            return {}
        ends: dict[str, dict[int, int | None]] = {}
        led = []
        for name in topics:
            if name not in view.topics:
                continue
            for number, partition in view.topics[name].partitions.items():
                ends.setdefault(name, {})[number] = None
                # A request for a partition without a leader would delay all the answers.
                if partition.leader >= 0:
                    led.append(TopicPartition(name, number))
        latest = OffsetSpec.latest()  # type: ignore[no-untyped-call]
        requests = dict.fromkeys(led, latest)
        answers = self._client.list_offsets(requests, request_timeout=2)
        for part, future in answers.items():
            with contextlib.suppress(KafkaException):  # It has just lost its leader.
                ends[part.topic][part.partition] = future.result().offset
        return ends


def _is_in_sync(partition: PartitionMetadata) -> bool:
    """Whether it has a leader and every replica is in sync."""
    return partition.leader > 0 and len(partition.isrs) == len(partition.replicas)
