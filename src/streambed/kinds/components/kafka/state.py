"""The state of a running cluster: its partitions, and the consumer groups that read them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from streambed.errors import ProcessError
from streambed.record import codec
from streambed.record.events import PartitionState
from streambed.record.orders import GroupsOrder, KnownGroups

if TYPE_CHECKING:
    from confluent_kafka.admin import ClusterMetadata  # type: ignore[attr-defined]

AGENT = "streambed.agents.kafka_groups"
AGENT_LIMIT_S = 20.0


def partition_states(
    view: ClusterMetadata,
    limits: Mapping[str, Mapping[str, Mapping[int, int | None]]],
    nodes: Mapping[int, str],
) -> tuple[PartitionState, ...]:
    """Every partition with its replicas; `nodes` are the servers by number.

    `limits` are the offsets `start`, `end` and `stable` of every topic and partition.
    """
    states = []
    for topic in sorted(limits["end"]):
        for number, part in sorted(view.topics[topic].partitions.items()):
            states.append(
                PartitionState(
                    topic=topic,
                    partition=number,
                    leader=nodes.get(part.leader, ""),
                    replicas=_names(part.replicas, nodes),
                    in_sync=_names(part.isrs, nodes),
                    **{name: ends[topic].get(number) for name, ends in limits.items()},
                )
            )
    return tuple(states)


def _names(numbers: Iterable[int], nodes: Mapping[int, str]) -> tuple[str, ...]:
    return tuple(nodes.get(number, str(number)) for number in numbers)


def ask_groups(order: GroupsOrder) -> KnownGroups:
    """The groups, by an agent that may crash; without listing them if that is why it crashed.

    ProcessError if it fails both times. Call it inside a host.
    """
    try:
        return _run_agent(order)
    except ProcessError:
        if not order.groups:
            raise
        return _run_agent(replace(order, list_groups=False))


def _run_agent(order: GroupsOrder) -> KnownGroups:
    command = [sys.executable, "-m", AGENT, codec.encode(order).decode()]
    try:
        done = subprocess.run(command, capture_output=True, timeout=AGENT_LIMIT_S, check=False)
    except subprocess.TimeoutExpired:
        raise ProcessError(f"no answer within {AGENT_LIMIT_S:g} s") from None
    if done.returncode:
        last_line = done.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        raise ProcessError(f"status {done.returncode}. {last_line}".strip())
    return codec.decode(KnownGroups, done.stdout)
