"""What the judge must know of a topic besides the ledger: from events and declared settings."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np
import polars as pl

from streambed.judge.arrays import OFFSET_BITS, Topic
from streambed.judge.columns import NONE
from streambed.judge.findings import Facts, OpenTransaction, PartitionEnd, ReplicaBatches
from streambed.judge.promises import Settings
from streambed.kinds.evidence.course import witness_finished
from streambed.kinds.evidence.readers import readers_of
from streambed.record.events import (
    ClusterState,
    DrainIncomplete,
    Phase,
    ProcessEnded,
    TopicSettings,
)
from streambed.record.history import History

if TYPE_CHECKING:
    from streambed.kinds.components.progress import DeclaredReader

STUCK_NS = 10_000_000_000
"""How long a reader that is behind may read nothing before it counts as stuck."""


@runtime_checkable
class DeclaresTopics(Protocol):
    """A broker that knows the declared settings of its topics."""

    def topic_settings(self, topic: str) -> dict[str, str]:
        """The settings of a topic that are declared, those of all topics among them."""

    def replicas_of(self, topic: str) -> int:
        """How many replicas each partition of a topic has."""


def facts_of(history: History, topic: Topic) -> Facts:
    """All facts about a topic."""
    settings = topic_settings(history, topic.name)
    return Facts(
        ends=ends_of(history, topic.name),
        compacted="compact" in settings.get("cleanup.policy", ""),
        compacted_topics=_compacted_topics(history),
        uncommitted_groups=_groups(history, topic.name, lambda reader: reader.uncommitted),
        unknown_isolation_groups=_of_unknown_isolation(history, topic),
        groups=_declared_groups(history, topic.name),
        latest_groups=_groups(history, topic.name, lambda reader: reader.from_latest),
        unread=_unread(history, topic.name),
        unfinished_producers=_killed_producers(history, topic),
        anonymous_producers=_handing_in(history, topic),
        read_back_failed=not witness_finished(history),
        behind_since=_behind(history, topic),
        existing=_on_existing_cluster(history, topic.name),
        replicas=_replica_batches(history, topic.name),
        open_transactions=_open_transactions(history),
    )


def settings_of(history: History, topic: str) -> Settings:
    """The settings that decide what is promised for a topic."""
    settings = topic_settings(history, topic)
    writers = [one for one in history.components.values() if topic in one.topics_written]
    sends = [sent for one in writers for sent in one.writers]
    known = bool(sends) and all(one.writers for one in writers)
    return Settings(
        acks=frozenset(one.acks for one in sends) if known else None,
        idempotent=all(one.idempotent for one in sends) if known else None,
        in_sync_min=int(settings["min.insync.replicas"]) if settings else None,
        replicas=_replicas(history, topic),
        unclean_election=settings.get("unclean.leader.election.enable") == "true",
        uncommitted_groups=_groups(history, topic, lambda reader: reader.uncommitted),
        latest_groups=_groups(history, topic, lambda reader: reader.from_latest),
    )


def topic_settings(history: History, topic: str) -> dict[str, str]:
    """The settings of a topic that were in force, else those that are declared; empty if nobody
    declares the topic.
    """
    in_force = [event.settings for event in history.of(TopicSettings) if event.topic == topic]
    if in_force:
        return in_force[-1]
    broker = _declaring_broker(history, topic)
    return broker.topic_settings(topic) if broker else {}


def _declaring_broker(history: History, topic: str) -> DeclaresTopics | None:
    for component in history.components.values():
        broker = component.as_broker
        if broker and topic in broker.partitions and isinstance(broker, DeclaresTopics):
            return broker
    return None


def _compacted_topics(history: History) -> frozenset[str]:
    brokers = [component.as_broker for component in history.components.values()]
    names = [
        topic
        for broker in brokers
        if broker
        for topic in broker.partitions
        if "compact" in topic_settings(history, topic).get("cleanup.policy", "")
    ]
    return frozenset(names)


def _on_existing_cluster(history: History, topic: str) -> bool:
    owners = [
        component
        for component in history.components.values()
        if component.as_broker and topic in component.as_broker.partitions
    ]
    return any(component.existing_address for component in owners)


def _replicas(history: History, topic: str) -> int | None:
    counts = [
        len(partition.replicas)
        for state in history.of(ClusterState)
        for partition in state.partitions
        if partition.topic == topic
    ]
    if counts:
        return min(counts)
    broker = _declaring_broker(history, topic)
    return broker.replicas_of(topic) if broker else None


def ends_of(history: History, topic: str) -> dict[int, PartitionEnd]:
    """The state of each partition after the drain; none if the cluster did not answer then."""
    ends = {}
    drains = [event.time for event in history.of(Phase) if event.phase == "drain"]
    states = [event for event in history.of(ClusterState) if drains and event.time >= drains[-1]]
    for state in states:
        for one in state.partitions:
            if one.topic == topic:
                ends[one.partition] = PartitionEnd(
                    partition=one.partition, start=one.start, end=one.end, stable=one.stable
                )
    return ends


def _replica_batches(history: History, topic: str) -> ReplicaBatches | None:
    """The batches in the files of all brokers; None if they were not read."""
    if history.broker_files is None:
        return None
    batches = history.broker_files.log_batches.filter(pl.col("topic") == topic)
    return ReplicaBatches(
        broker=batches["broker"].rank("dense").cast(pl.Int32).to_numpy(),
        partition=batches["partition"].cast(pl.Int64).to_numpy(),
        first_offset=batches["first"].to_numpy(),
        last_offset=batches["last"].to_numpy(),
        leader_epoch=batches["epoch"].cast(pl.Int64).to_numpy(),
        checksum=batches["checksum"].to_numpy(),
    )


def _open_transactions(history: History) -> tuple[OpenTransaction, ...] | None:
    """Producers whose transaction was open when the coordinator last recorded its state.

    The partitions of it are not noted, so it counts for all. Its producer is alive if the run
    stopped it: it was not killed before.
    """
    if history.broker_files is None:
        return None
    states = history.broker_files.transaction_states
    last = states.group_by("transactional_id", maintain_order=True).last()
    ended = {event.component: event for event in history.of(ProcessEnded)}
    opened = []
    for name, state in last.select("transactional_id", "state").iter_rows():
        if state == "ongoing":
            end = ended.get(name.partition("/")[0])
            opened.append(OpenTransaction(partition=NONE, live=end is None or end.status >= 0))
    return tuple(opened)


def _groups(
    history: History, topic: str, wanted: Callable[[DeclaredReader], bool]
) -> frozenset[str]:
    return frozenset(
        reader.name
        for component in history.components.values()
        for reader in component.readers
        if topic in reader.topics and wanted(reader)
    )


def _of_unknown_isolation(history: History, topic: Topic) -> frozenset[str]:
    """Groups with a member that does not say whether it reads uncommitted records."""
    unknown = []
    for group, client in topic.members():
        component = history.components.get(client.partition("/")[0])
        readers = [] if component is None else component.readers
        if not any(reader.isolation for reader in readers if topic.name in reader.topics):
            unknown.append(group)
    return frozenset(unknown)


def _declared_groups(history: History, topic: str) -> frozenset[str]:
    """Groups that must read a topic. A program of the user names its groups in its ledger only."""
    return frozenset(
        reader.name
        for component in history.components.values()
        for reader in component.readers
        if topic in reader.topics and reader.group and not component.hands_in_ledger
    )


def _unread(history: History, topic: str) -> dict[str, frozenset[int] | None]:
    unread = {}
    for reader in readers_of(history, topic):
        rest = reader.unread(history, topic)
        unread[reader.name] = None if rest.everything else rest.partitions
    return unread


def _killed_producers(history: History, topic: Topic) -> frozenset[str]:
    """Producers of components whose last process was killed."""
    last: dict[str, ProcessEnded] = {event.process: event for event in history.of(ProcessEnded)}
    killed = {event.component for event in last.values() if event.status < 0}
    return frozenset(name for name in topic.clients.words if name.partition("/")[0] in killed)


def _handing_in(history: History, topic: Topic) -> frozenset[str]:
    names = []
    for name in topic.clients.words:
        component = history.components.get(name.partition("/")[0])
        if component is not None and component.hands_in_ledger:
            names.append(name)
    return frozenset(names)


def _behind(history: History, topic: Topic) -> dict[tuple[str, int], int]:
    """Groups that were behind at the end on a partition that they held, and had read nothing of it
    for long.
    """
    behind = {}
    for end in history.of(DrainIncomplete):
        for wait in end.waits:
            concerned = wait.reason == "behind" and topic.name in wait.topics
            if not concerned or wait.partition is None:
                continue
            since = _idle_since(topic, wait.reader, wait.partition)
            if since is not None and end.time - since > STUCK_NS:
                behind[wait.reader, wait.partition] = since
    return behind


def _idle_since(topic: Topic, group: str, partition: int) -> int | None:
    """When a group last got the partition or a record of it; None if it does not hold it."""
    tenures = topic.tenures
    mine = (tenures.group == topic.groups.known(group)) & (tenures.partition == partition)
    held = tenures.began[mine & (tenures.ended == NONE)]
    if not len(held):
        return None
    reads = topic.reads.get(group)
    times = [held] if reads is None else [held, reads.time[reads.place >> OFFSET_BITS == partition]]
    return int(np.concatenate(times).max())
