"""A client's view of a running Kafka cluster: brokers, leaders of topics, and end offsets."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:  # A plan declares topics, and needs no client.
    from confluent_kafka.admin import (  # type: ignore[attr-defined]
        ClusterMetadata,
        NewTopic,
        PartitionMetadata,
    )

from streambed.errors import ProcessError
from streambed.kinds.components.kafka.state import ask_groups, partition_states
from streambed.record.events import ClusterState, Event, Note, TopicSettings
from streambed.record.orders import GroupsOrder

METADATA_LIMIT_S = 0.5
DECIDING = (
    "cleanup.policy",
    "flush.messages",
    "flush.ms",
    "message.timestamp.type",
    "min.insync.replicas",
    "retention.bytes",
    "retention.ms",
    "unclean.leader.election.enable",
)
"""The settings of a topic that decide what Kafka promises."""


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
        from confluent_kafka.admin import NewTopic  # type: ignore[attr-defined]

        if self.assignment:
            return NewTopic(
                name, self.partitions, replica_assignment=self.assignment, config=self.config
            )
        return NewTopic(name, self.partitions, self.replicas, config=self.config)


class KafkaCluster:
    """An admin client. Construct it inside a host: its threads then use that host's network."""

    def __init__(self, bootstrap: str) -> None:
        from confluent_kafka.admin import AdminClient

        self._client = AdminClient(
            {
                "bootstrap.servers": bootstrap,
                "log_level": 0,
                "reconnect.backoff.max.ms": 200,
                "socket.connection.setup.timeout.ms": 3000,
            }
        )
        self._bootstrap = bootstrap
        self._requested: set[str] = set()
        self._groups: tuple[str, ...] = ()

    def _view(self) -> ClusterMetadata | None:
        from confluent_kafka import KafkaException

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
        known = {*self._requested, *view.topics}  # A kept folder has its topics already.
        self._create({name: spec for name, spec in topics.items() if name not in known})
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

    def state(
        self, name: str, nodes: Mapping[int, str], addresses: Mapping[str, str]
    ) -> tuple[Event, ...]:
        """The topics and groups of the cluster `name` now; nothing if it does not answer.

        Call it inside a host.
        """
        view = self._view()
        if view is None:
            return ()
        topics = [topic for topic in view.topics if not topic.startswith("__")]
        limits = {
            "start": self._offsets(view, topics, "earliest"),
            "end": self._offsets(view, topics, "latest"),
            "stable": self._offsets(view, topics, "latest", committed=True),
        }
        partitions = partition_states(view, limits, nodes)
        settings = tuple(self._settings(name, topics))
        # A broker that is away hides all groups; those that were seen before are known.
        order = GroupsOrder(
            bootstrap=self._bootstrap, addresses=dict(addresses), groups=self._groups
        )
        try:
            groups = ask_groups(order)
        except ProcessError as error:
            says = f"the consumer groups of {name} could not be read: {error}"
            return (ClusterState(component=name, partitions=partitions), *settings, Note(says=says))
        self._groups = groups.names
        state = ClusterState(component=name, partitions=partitions, groups=groups.states)
        return (state, *settings)

    def _settings(self, name: str, topics: list[str]) -> Iterator[TopicSettings | Note]:
        """The settings of topics that decide what Kafka promises; a note without an answer."""
        from confluent_kafka import KafkaException
        from confluent_kafka.admin import (  # type: ignore[attr-defined]
            ConfigResource,
            ResourceType,
        )

        resources = {topic: ConfigResource(ResourceType.TOPIC, topic) for topic in topics}
        if not resources:
            return
        answers = self._client.describe_configs(
            list(resources.values()), request_timeout=METADATA_LIMIT_S * 4
        )
        for topic, resource in resources.items():
            try:
                entries = answers[resource].result()
            except KafkaException as error:
                says = f"the settings of {topic} could not be read, so the declared ones count"
                yield Note(says=f"{says}: {error}")
                continue
            settings = {key: str(entries[key].value) for key in DECIDING if key in entries}
            yield TopicSettings(component=name, topic=topic, settings=settings)

    def end_offsets(self, topics: list[str]) -> dict[str, dict[int, int | None]]:
        """The next offset of each partition; None for a partition without a leader.

        Empty if the cluster does not answer at all.
        """
        view = self._view()
        return {} if view is None else self._offsets(view, topics, "latest")

    def _offsets(
        self,
        view: ClusterMetadata,
        topics: list[str],
        which: Literal["earliest", "latest"],
        *,
        committed: bool = False,
    ) -> dict[str, dict[int, int | None]]:
        """The first or the next offset of each partition; `committed`: the last stable one."""
        from confluent_kafka import IsolationLevel, KafkaException, TopicPartition
        from confluent_kafka.admin import OffsetSpec  # type: ignore[attr-defined]

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
        earliest = which == "earliest"
        wanted = OffsetSpec.earliest() if earliest else OffsetSpec.latest()  # type: ignore[no-untyped-call]
        level = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED
        answers = self._client.list_offsets(
            dict.fromkeys(led, wanted), isolation_level=level, request_timeout=2
        )
        for part, future in answers.items():
            with contextlib.suppress(KafkaException):  # It has just lost its leader.
                ends[part.topic][part.partition] = future.result().offset
        return ends


def _is_in_sync(partition: PartitionMetadata) -> bool:
    """Whether it has a leader and every replica is in sync."""
    return partition.leader > 0 and len(partition.isrs) == len(partition.replicas)
