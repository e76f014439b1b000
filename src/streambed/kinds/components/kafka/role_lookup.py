"""Who has a role with a topic partition, as the brokers' answers say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from streambed.kinds.components.kafka.protocol import Led, Partition, coordinating_partition
from streambed.kinds.components.roles import OF_PARTITIONS, Role

GROUPS, TRANSACTIONS = "__consumer_offsets", "__transaction_state"
"""Kafka's own topics: the leader of a partition of these coordinates groups, or transactions."""


def topic_of_role(role: Role) -> str:
    """The topic whose leaders decide who has a role."""
    if role.kind in OF_PARTITIONS:
        return role.of
    return TRANSACTIONS if role.kind == "transaction coordinator" else GROUPS


def held_in(views: Sequence[Mapping[int, Partition]], role: Role) -> Led | None:
    """The broker that has a role, by the newest of several views of one topic; None if none says.

    Of several followers, the first that is in sync.
    """
    partitions = max(map(len, views), default=0)
    if not partitions:
        return None
    number = role.partition
    if role.kind not in OF_PARTITIONS:
        number = coordinating_partition(role.of, partitions)
    newest = max((view[number] for view in views if number in view), default=None)
    if newest is None:
        return None
    if role.kind != "follower":
        return newest.epoch, newest.leader
    followers = [broker for broker in newest.in_sync if broker != newest.leader]
    return newest.epoch, min(followers, default=-1)
