"""How a cluster fares while it runs: who leads, who is in sync, which controller; what changed since the last look."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from streambed.kinds.components.kafka_questions import Partition, View

Change = tuple[str, dict[str, Any]]
"""The name of an event and its fields."""


def newest(views: Iterable[View]) -> View:
    """Each partition as the broker of the newest epoch sees it; at one epoch, the smaller set in sync is the newer."""
    found: View = {}
    for view in views:
        for topic, parts in view.items():
            known = found.setdefault(topic, {})
            for number, part in parts.items():
                if number not in known or _age(part) > _age(known[number]):
                    known[number] = part
    return found


def _age(part: Partition) -> tuple[int, int]:
    return part.epoch, -len(part.in_sync)


@dataclass
class KafkaWatch:
    """Remembers the last look at one cluster; `nodes` are its servers by number."""

    cluster: str
    nodes: Mapping[int, str]
    brokers: tuple[str, ...]
    controller: str = ""
    parts: dict[tuple[str, int], Partition] = field(default_factory=dict)

    def changes(self, views: Iterable[View], controller: str) -> Iterator[Change]:
        """What is otherwise than at the last look. What nobody answers for stays as it was."""
        if controller and controller != self.controller:
            yield "controller_changed", {"component": self.cluster, "was": self.controller, "is": controller}
            self.controller = controller
        for topic, parts in newest(views).items():
            for number, part in parts.items():
                before = self.parts.get((topic, number))
                self.parts[topic, number] = part
                place = {"component": self.cluster, "topic": topic, "partition": number}
                if before is None or before.leader != part.leader:
                    was = self._name(before.leader) if before else ""
                    yield "leader_changed", {**place, "was": was, "is": self._name(part.leader), "epoch": part.epoch}
                if before is not None and set(before.in_sync) != set(part.in_sync):
                    yield "in_sync_changed", {**place, "was": self._names(before.in_sync), "is": self._names(part.in_sync)}

    def samples(self) -> Iterator[tuple[str, str, float]]:
        """Metric, of whom, value: partitions led and in sync at each broker, partitions without all replicas and without a leader."""
        leads = Counter(self._name(part.leader) for part in self.parts.values())
        holds = Counter(self._name(broker) for part in self.parts.values() for broker in part.in_sync)
        for node in self.brokers:
            yield "leads_partitions", f"{self.cluster}/{node}", leads[node]
            yield "in_sync_partitions", f"{self.cluster}/{node}", holds[node]
        yield "under_replicated", self.cluster, sum(len(part.in_sync) < len(part.replicas) for part in self.parts.values())
        yield "leaderless", self.cluster, leads[""]

    def _name(self, number: int) -> str:
        return self.nodes.get(number, "")

    def _names(self, numbers: Iterable[int]) -> list[str]:
        return sorted(map(self._name, numbers))
