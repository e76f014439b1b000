"""What changes in a running cluster: leaders, replicas in sync, and the controller."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from streambed.kinds.components.broker import Sample
from streambed.kinds.components.kafka.protocol import Partition, View
from streambed.record.events import ControllerChanged, Event, InSyncChanged, LeaderChanged


def newest(views: Iterable[View]) -> View:
    """Each partition as the broker with the newest epoch sees it.

    Within an epoch the smaller set of replicas in sync is the newer.
    """
    merged: View = {}
    for view in views:
        for topic, parts in view.items():
            known = merged.setdefault(topic, {})
            for number, part in parts.items():
                if number not in known or _recency(part) > _recency(known[number]):
                    known[number] = part
    return merged


def _recency(part: Partition) -> tuple[int, int]:
    return part.epoch, -len(part.in_sync)


@dataclass
class KafkaWatch:
    """Remembers how a cluster was when last polled; `nodes` are its servers by number."""

    cluster: str
    nodes: Mapping[int, str]
    brokers: tuple[str, ...]
    controller: str = ""
    parts: dict[tuple[str, int], Partition] = field(default_factory=dict)

    def changes(self, views: Iterable[View], controller: str) -> Iterator[Event]:
        """What changed since the last poll. What no broker answers for stays as it was."""
        if controller and controller != self.controller:
            yield ControllerChanged(component=self.cluster, was=self.controller, now=controller)
            self.controller = controller
        for topic, parts in newest(views).items():
            for number, part in parts.items():
                before = self.parts.get((topic, number))
                self.parts[topic, number] = part
                yield from self._changes_of(topic, number, before, part)

    def _changes_of(
        self, topic: str, number: int, before: Partition | None, part: Partition
    ) -> Iterator[Event]:
        if before is None or before.leader != part.leader:
            yield LeaderChanged(
                component=self.cluster,
                topic=topic,
                partition=number,
                was=self._name(before.leader) if before else "",
                now=self._name(part.leader),
                epoch=part.epoch,
            )
        if before is not None and set(before.in_sync) != set(part.in_sync):
            yield InSyncChanged(
                component=self.cluster,
                topic=topic,
                partition=number,
                was=self._names(before.in_sync),
                now=self._names(part.in_sync),
            )

    def samples(self) -> Iterator[Sample]:
        """Partitions led and in sync at each broker, and those under-replicated or leaderless."""
        parts = self.parts.values()
        leads = Counter(self._name(part.leader) for part in parts)
        holds = Counter(self._name(broker) for part in parts for broker in part.in_sync)
        for node in self.brokers:
            yield Sample(metric="leads_partitions", of=f"{self.cluster}/{node}", value=leads[node])
            yield Sample(
                metric="in_sync_partitions", of=f"{self.cluster}/{node}", value=holds[node]
            )
        lacking = sum(len(part.in_sync) < len(part.replicas) for part in parts)
        yield Sample(metric="under_replicated", of=self.cluster, value=lacking)
        yield Sample(metric="leaderless", of=self.cluster, value=leads[""])

    def _name(self, number: int) -> str:
        return self.nodes.get(number, "")

    def _names(self, numbers: Iterable[int]) -> tuple[str, ...]:
        return tuple(sorted(map(self._name, numbers)))
