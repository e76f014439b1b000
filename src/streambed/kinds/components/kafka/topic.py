"""A topic of a Kafka cluster: its partitions, replicas and settings, and their brokers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import Annotated, Literal

from pydantic import Field

from streambed.errors import suggestion
from streambed.kinds.components.kafka.cluster import TopicSpec
from streambed.kinds.components.kafka.properties import TIMERS
from streambed.kinds.declaring import Setting, declared, setting_text


class WithTopics:
    """What a cluster declares of its topics."""

    topics: dict[str, Topic]
    settings: dict[str, Setting]

    def topic_settings(self, topic: str) -> dict[str, str]:
        """Kafka's default, the cluster's settings and those of the topic, the last one first."""
        joined = {"min.insync.replicas": 1, **self.settings, **self.topics[topic].config}
        return {key: setting_text(setting) for key, setting in joined.items()}

    def replicas_of(self, topic: str) -> int:
        """How many replicas each partition of a topic has."""
        return self.topics[topic].replicas


@declared
class Topic:
    """A topic, its partitions and their replicas."""

    partitions: Annotated[int, Field(ge=1, le=10_000)] = 1
    replicas: Annotated[int, Field(ge=1, le=1_000)] = 1
    leaders: tuple[str, ...] = ()
    """The nodes that lead its partitions at first, in turn. Replicas are on the nodes after it."""
    placement: Literal["kafka", "balanced"] | tuple[tuple[str, ...], ...] | None = None
    """Where partitions are: as Kafka decides, balanced over all balanced topics, or the nodes of
    each partition, its leader first. Default: the cluster's `placement`.
    """
    config: dict[str, Setting] = Field(default_factory=dict)
    """Any of Kafka's topic settings."""

    def problems(self, brokers: Sequence[str]) -> Iterator[tuple[str, str]]:
        """What is impossible on these brokers, as pairs of a key and a message."""
        if self.replicas > len(brokers):
            yield (
                "replicas",
                f"{self.replicas} replicas need as many brokers, and the cluster has "
                f"{len(brokers)}: add nodes or ask for fewer",
            )
        if len(self.leaders) > self.partitions:
            yield (
                "leaders",
                f"there are {len(self.leaders)}, but the topic has {self.partitions} partitions: "
                "one leads each",
            )
        if self.leaders and self.placement not in (None, "kafka"):
            yield "placement", "the leaders are given as well: give one of the two"
        named = [(f"leaders.{index}", node) for index, node in enumerate(self.leaders)]
        if isinstance(self.placement, tuple):
            for partition, nodes in enumerate(self.placement):
                for index, node in enumerate(nodes):
                    named.append((f"placement.{partition}.{index}", node))
            yield from self._placement_problems(self.placement)
        for key, node in named:
            if node not in brokers:
                yield key, f"'{node}' is no broker of this cluster. {suggestion(node, brokers)}"

    def _placement_problems(
        self, placement: tuple[tuple[str, ...], ...]
    ) -> Iterator[tuple[str, str]]:
        if len(placement) != self.partitions:
            yield (
                "placement",
                f"there are nodes for {len(placement)} partitions, but the topic has "
                f"{self.partitions}",
            )
        for partition, nodes in enumerate(placement):
            if len(set(nodes)) != self.replicas:
                yield (
                    f"placement.{partition}",
                    f"these are {len(set(nodes))} different nodes, but each partition has "
                    f"{self.replicas} replicas",
                )


def timers_of(
    settings: Mapping[str, Setting], topics: Mapping[str, Topic]
) -> dict[str, tuple[Setting, bool]]:
    """Settings that decide who takes over after a fault, and whether each was declared."""
    timers = {
        name: (settings.get(name, default), name in settings) for name, default in TIMERS.items()
    }
    key = "min.insync.replicas"
    default, _ = timers[key]
    for name, topic in topics.items():
        timers[f"{key} of {name}"] = (topic.config.get(key, default), key in topic.config)
    return timers


def topic_specs(
    topics: dict[str, Topic], brokers: Sequence[str], usual: Literal["kafka", "balanced"] = "kafka"
) -> dict[str, TopicSpec]:
    """Each topic as Kafka should create it; `usual` is the placement of topics that name none.

    Broker numbers begin at 1, in the order of `brokers`. Balanced placement deals the partitions of
    all balanced topics to the brokers in turn, so that the numbers of partitions they lead differ
    by one at most. Followers get a stride that grows each round, so that they are spread as well.
    """
    turns = count()
    return {name: _topic_spec(topic, brokers, turns, usual) for name, topic in topics.items()}


def _topic_spec(
    topic: Topic, brokers: Sequence[str], turns: Iterator[int], usual: Literal["kafka", "balanced"]
) -> TopicSpec:
    return TopicSpec(
        partitions=topic.partitions,
        replicas=topic.replicas,
        config={key: setting_text(value) for key, value in topic.config.items()},
        assignment=_assignment(topic, brokers, turns, usual),
    )


def _assignment(
    topic: Topic, brokers: Sequence[str], turns: Iterator[int], usual: Literal["kafka", "balanced"]
) -> list[list[int]]:
    """The broker numbers of each partition, the leader first; empty if Kafka decides."""
    numbers = {node: number for number, node in enumerate(brokers, 1)}
    placement = topic.placement or ("kafka" if topic.leaders else usual)
    partitions = range(topic.partitions)
    if placement == "balanced":
        return [_deal(next(turns), len(brokers), topic.replicas) for _ in partitions]
    if placement != "kafka":
        return [[numbers[node] for node in nodes] for nodes in placement]
    if not topic.leaders:
        return []
    leaders = [numbers[topic.leaders[part % len(topic.leaders)]] for part in partitions]
    return [_replicas_after(leader, len(brokers), topic.replicas) for leader in leaders]


def _replicas_after(leader: int, brokers: int, replicas: int) -> list[int]:
    """The leader and the brokers that follow it, round the cluster."""
    return [(leader - 1 + step) % brokers + 1 for step in range(replicas)]


def _deal(turn: int, brokers: int, replicas: int) -> list[int]:
    """The brokers of the partition that is dealt at this turn."""
    rounds, leader = divmod(turn, brokers)
    others = [
        (leader + 1 + (rounds + step) % (brokers - 1)) % brokers for step in range(replicas - 1)
    ]
    return [broker + 1 for broker in (leader, *others)]
