"""Describe the consumer groups of a Kafka cluster, in a separate process.

librdkafka has been seen to crash when it asks every broker for its groups after a broker was cut
off. Here that ends only this small process, and not the run.

    python -m streambed.agents.kafka_groups ORDER      prints one KnownGroups
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException
from confluent_kafka.admin import AdminClient

from streambed.record import codec
from streambed.record.events import GroupState
from streambed.record.orders import GroupsOrder, KnownGroups

ANSWER_LIMIT_S = 3.0
GROUPS_MAX = 100
"""Most groups of a cluster that are described."""

PartitionId = tuple[str, int]
"""A topic and a partition."""


def main(order_text: str) -> None:
    """Print the groups of the cluster that the order names."""
    order = codec.decode(GroupsOrder, order_text)
    client = AdminClient({"bootstrap.servers": order.bootstrap, "log_level": 0})
    names = set(order.groups)
    if order.list_groups:
        names |= set(group_names(client))
    states = group_states(client, names, order.addresses)
    answer = KnownGroups(names=tuple(sorted(names)), states=states)
    sys.stdout.buffer.write(codec.encode(answer))


def group_names(client: AdminClient) -> list[str]:
    """The consumer groups that all brokers together know of; empty if one does not answer."""
    try:
        listed = client.list_consumer_groups(request_timeout=ANSWER_LIMIT_S).result()
    except KafkaException:
        return []
    return [group.group_id for group in listed.valid]


def group_states(
    client: AdminClient, names: Iterable[str], addresses: Mapping[str, str]
) -> tuple[GroupState, ...]:
    """These groups with their members and offsets; those that do not answer are left out."""
    hosts = {address: node for node, address in addresses.items()}
    groups = sorted(names)[:GROUPS_MAX]
    if not groups:
        return ()
    described = client.describe_consumer_groups(groups, request_timeout=ANSWER_LIMIT_S)
    offsets = {group: _ask_offsets(client, group) for group in groups}
    states: list[GroupState] = []
    for group in groups:
        try:
            members = dict(_members(described[group].result(), hosts))
            committed = dict(_committed_offsets(offsets[group].result()))
        except KafkaException:
            continue  # Its coordinator does not answer.
        states += _states(group, members, committed)
    return tuple(states)


def _ask_offsets(client: AdminClient, group: str) -> Any:
    request = ConsumerGroupTopicPartitions(group)
    return client.list_consumer_group_offsets([request], request_timeout=ANSWER_LIMIT_S)[group]


def _members(group: Any, hosts: Mapping[str, str]) -> Iterator[tuple[PartitionId, str]]:
    """Who has each partition, by client and host."""
    for member in group.members:
        address = member.host.removeprefix("/")
        name = f"{member.client_id} on {hosts.get(address, address)}"
        for part in member.assignment.topic_partitions if member.assignment else ():
            yield (part.topic, part.partition), name


def _committed_offsets(answer: Any) -> Iterator[tuple[PartitionId, int | None]]:
    for part in answer.topic_partitions:
        yield (part.topic, part.partition), part.offset if part.offset >= 0 else None


def _states(
    group: str, members: Mapping[PartitionId, str], committed: Mapping[PartitionId, int | None]
) -> Iterator[GroupState]:
    for topic, partition in sorted({*members, *committed}):
        yield GroupState(
            group=group,
            topic=topic,
            partition=partition,
            member=members.get((topic, partition), ""),
            committed=committed.get((topic, partition)),
        )


if __name__ == "__main__":
    main(sys.argv[1])
