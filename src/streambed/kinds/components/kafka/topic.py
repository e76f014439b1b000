"""A topic of a Kafka cluster: how it is kept, and on which brokers its partitions are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from typing import Annotated, Literal

from pydantic import Field

from streambed.errors import suggestion
from streambed.kinds.components.kafka.cluster import Wanted
from streambed.kinds.declaring import Setting, declared, setting_text


@declared
class Topic:
    """A topic and how it is kept."""

    partitions: Annotated[int, Field(ge=1, le=10_000)] = 1
    replicas: Annotated[int, Field(ge=1, le=1_000)] = 1
    leaders: tuple[str, ...] = ()
    """The nodes that lead its partitions at first, in turn; replicas follow in the order of the
    cluster's nodes.
    """
    placement: Literal["kafka", "balanced"] | tuple[tuple[str, ...], ...] | None = None
    """Where partitions are: as Kafka decides; balanced, over all topics that are; or the nodes of
    each, its leader first. Default: as the cluster says.
    """
    config: dict[str, Setting] = Field(default_factory=dict)
    """Any of Kafka's topic settings."""

    def problems(self, brokers: Sequence[str]) -> Iterator[tuple[str, str]]:
        """What cannot be on these brokers: the key, and what is wrong."""
        if self.replicas > len(brokers):
            yield (
                "replicas",
                f"{self.replicas} replicas need as many brokers, but there are {len(brokers)}: add "
                "nodes or ask for fewer",
            )
        if len(self.leaders) > self.partitions:
            yield (
                "leaders",
                f"there are {len(self.leaders)}, but the topic has {self.partitions} partitions: "
                "one leads each",
            )
        if self.leaders and self.placement not in (None, "kafka"):
            yield "placement", "the leaders are given as well: give one of the two"
        named = [(f"leaders.{at}", node) for at, node in enumerate(self.leaders)]
        if isinstance(self.placement, tuple):
            named += [
                (f"placement.{at}.{to}", node)
                for at, nodes in enumerate(self.placement)
                for to, node in enumerate(nodes)
            ]
            yield from self._wrongly_placed(self.placement)
        for key, node in named:
            if node not in brokers:
                yield key, f"'{node}' is no broker of this cluster. {suggestion(node, brokers)}"

    def _wrongly_placed(self, placement: tuple[tuple[str, ...], ...]) -> Iterator[tuple[str, str]]:
        if len(placement) != self.partitions:
            yield (
                "placement",
                f"there are nodes for {len(placement)} partitions, but the topic has "
                f"{self.partitions}",
            )
        for at, nodes in enumerate(placement):
            if len(set(nodes)) != self.replicas:
                yield (
                    f"placement.{at}",
                    f"these are {len(set(nodes))} different nodes, but each partition has "
                    f"{self.replicas} replicas",
                )


def wanted(
    topics: dict[str, Topic], brokers: Sequence[str], usual: Literal["kafka", "balanced"] = "kafka"
) -> dict[str, Wanted]:
    """Each topic as Kafka should make it, placed as `usual` if it does not say. Broker numbers
    begin at 1, in the order of `brokers`.

    Balanced placement deals the partitions of all topics that are balanced to the brokers in turn,
    so that no two brokers lead numbers that differ by more than one; followers are dealt out with a
    stride that grows each round, so that they spread as well.
    """
    turns = count()
    return {name: _wanted(topic, brokers, turns, usual) for name, topic in topics.items()}


def _wanted(
    topic: Topic, brokers: Sequence[str], turns: Iterator[int], usual: Literal["kafka", "balanced"]
) -> Wanted:
    numbers = {node: number for number, node in enumerate(brokers, 1)}
    placed: list[list[int]] = []
    placement = topic.placement or ("kafka" if topic.leaders else usual)
    if placement == "balanced":
        placed = [
            _dealt(next(turns), len(brokers), topic.replicas) for _ in range(topic.partitions)
        ]
    elif placement != "kafka":
        placed = [[numbers[node] for node in nodes] for nodes in placement]
    elif topic.leaders:
        firsts = [
            numbers[topic.leaders[part % len(topic.leaders)]] - 1
            for part in range(topic.partitions)
        ]
        placed = [
            [(first + step) % len(brokers) + 1 for step in range(topic.replicas)]
            for first in firsts
        ]
    config = {key: setting_text(value) for key, value in topic.config.items()}
    return Wanted(
        partitions=topic.partitions, replicas=topic.replicas, config=config, placed=placed
    )


def _dealt(turn: int, brokers: int, replicas: int) -> list[int]:
    """The brokers of the partition that is dealt out at this turn."""
    rounds, leader = divmod(turn, brokers)
    others = [
        (leader + 1 + (rounds + step) % (brokers - 1)) % brokers for step in range(replicas - 1)
    ]
    return [broker + 1 for broker in (leader, *others)]
