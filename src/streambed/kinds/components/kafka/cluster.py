"""A client's view of a running Kafka cluster: who is there, which topics have leaders, how far they
reach.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass

from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    ClusterMetadata,
    NewTopic,
    OffsetSpec,
    PartitionMetadata,
)  # type: ignore[attr-defined]

ASK_S = 0.5


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """A topic as it should be; `placed` has the brokers of each partition, the leader first, and is
    empty if Kafka may decide.
    """

    partitions: int
    replicas: int
    config: dict[str, str]
    placed: list[list[int]]

    def new(self, name: str) -> NewTopic:
        """The order to make it; placement takes the place of the count of replicas."""
        if self.placed:
            return NewTopic(
                name, self.partitions, replica_assignment=self.placed, config=self.config
            )
        return NewTopic(name, self.partitions, self.replicas, config=self.config)


class KafkaCluster:
    """Make it inside a host: librdkafka's threads then use that host's network."""

    def __init__(self, bootstrap: str) -> None:
        self._client = AdminClient(
            {
                "bootstrap.servers": bootstrap,
                "log_level": 0,
                "reconnect.backoff.max.ms": 200,
                "socket.connection.setup.timeout.ms": 3000,
            }
        )
        self._asked: set[str] = set()

    def _view(self) -> ClusterMetadata | None:
        try:
            return self._client.list_topics(timeout=ASK_S)
        except KafkaException:
            return None

    def missing(self, *, brokers: int, topics: dict[str, Wanted]) -> str:
        """Make the topics once all brokers are there; say what is still missing, empty when nothing
        is.
        """
        view = self._view()
        if view is None or len(view.brokers) < brokers:
            return f"{len(view.brokers) if view else 0} of {brokers} brokers answer"
        self._create({name: wanted for name, wanted in topics.items() if name not in self._asked})
        held = {
            name: sum(map(_is_whole, topic.partitions.values()))
            for name, topic in view.topics.items()
        }
        lacking = [name for name, wanted in topics.items() if held.get(name, 0) < wanted.partitions]
        return (
            f"no leader yet, or not all replicas in sync, for {', '.join(lacking)}"
            if lacking
            else ""
        )

    def _create(self, topics: dict[str, Wanted]) -> None:
        if not topics:
            return
        new = [wanted.new(name) for name, wanted in topics.items()]
        for future in self._client.create_topics(new, operation_timeout=5).values():
            future.result()
        self._asked |= set(topics)

    def end_offsets(self, topics: list[str]) -> dict[str, dict[int, int | None]]:
        """The offset that the next record of each partition will get; None for a partition that
        nobody answers for.

        Empty if the cluster does not answer at all.
        """
        view = self._view()
        if view is None:
            return {}
        known = [name for name in topics if name in view.topics]
        parts = [
            TopicPartition(name, number)
            for name in known
            for number in view.topics[name].partitions
        ]
        ends: dict[str, dict[int, int | None]] = {}
        for part in parts:
            ends.setdefault(part.topic, {})[part.partition] = None
        # Without a leader a partition cannot be asked, and asking would hold up the answers of the
        # others.
        led = [
            part for part in parts if view.topics[part.topic].partitions[part.partition].leader >= 0
        ]
        latest = OffsetSpec.latest()  # type: ignore[no-untyped-call]
        for part, future in self._client.list_offsets(
            {part: latest for part in led}, request_timeout=2
        ).items():
            with contextlib.suppress(
                KafkaException
            ):  # It lost its leader just now: its end stays None.
                ends[part.topic][part.partition] = future.result().offset
        return ends


def _is_whole(partition: PartitionMetadata) -> bool:
    """Whether it has a leader and every replica is in sync."""
    return partition.leader > 0 and len(partition.isrs) == len(partition.replicas)
