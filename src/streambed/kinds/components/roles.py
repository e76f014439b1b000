"""Roles: who leads a partition, who is the controller, who coordinates a group. A fault names one;
who holds it is asked when it comes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from streambed.errors import Problem, suggestion
from streambed.kinds.components.broker import Broker, brokers_among

FORMS = ("leader of TOPIC/PARTITION", "controller", "controller of KAFKA", "coordinator of GROUP")
_ROLE = re.compile(
    r"(?P<kind>leader|coordinator) of (?P<of>[^/\s]+)(/(?P<partition>\d+))?|(?P<controller>controller)( of (?P<kafka>\S+))?"
)
_WORDS = ("leader", "controller", "coordinator")


@dataclass(frozen=True, kw_only=True)
class Role:
    """What a broker can be to others: leader of a partition, controller of a Kafka, coordinator of
    a group.
    """

    kind: str
    of: str = ""
    """The topic, the group, or the Kafka component; empty for the only Kafka there is."""
    partition: int = 0

    def __str__(self) -> str:
        of = f"{self.of}/{self.partition}" if self.kind == "leader" else self.of
        return f"{self.kind} of {of}" if of else self.kind


def role(target: str) -> Role | None:
    """The role that a target names; None if it names something else, or a role in a wrong way."""
    found = _ROLE.fullmatch(target)
    if not found or (found["kind"] == "coordinator" and found["partition"]):
        return None
    if found["controller"]:
        return Role(kind="controller", of=found["kafka"] or "")
    return Role(kind=found["kind"], of=found["of"], partition=int(found["partition"] or 0))


def means_role(target: str) -> bool:
    """Whether a target is meant to be a role, rightly spelt or not: names have no blanks."""
    return " " in target or target in _WORDS


def role_problems(target: str, components: Mapping[str, Any], key: str) -> list[Problem]:
    """What is wrong with a target that is meant to be a role."""
    wanted = role(target)
    if wanted is None:
        return [Problem(key=key, says=f"'{target}' is not a role: write one of {', '.join(FORMS)}")]
    brokers = brokers_among(components)
    says = {"leader": _leader, "controller": _controller, "coordinator": _coordinator}[wanted.kind](
        wanted, brokers, components
    )
    return [Problem(key=key, says=says)] if says else []


Brokers = Mapping[str, Broker]


def _leader(wanted: Role, brokers: Brokers, components: Mapping[str, Any]) -> str:
    topics = {
        topic: partitions
        for broker in brokers.values()
        for topic, partitions in broker.partitions.items()
    }
    if wanted.of not in topics:
        return (
            f"no kafka component declares the topic '{wanted.of}'. {suggestion(wanted.of, topics)}"
        )
    partitions = topics[wanted.of]
    if wanted.partition < partitions:
        return ""
    there = "only partition 0" if partitions == 1 else f"partitions 0 to {partitions - 1}"
    return (
        f"'{wanted.of}' has {there}, not {wanted.partition}"
        if partitions
        else f"'{wanted.of}' has no partitions, so nobody leads it"
    )


def _controller(wanted: Role, brokers: Brokers, components: Mapping[str, Any]) -> str:
    if wanted.of:
        return (
            ""
            if wanted.of in brokers
            else f"there is no kafka component '{wanted.of}'. {suggestion(wanted.of, brokers)}"
        )
    if len(brokers) > 1:
        return f"several kafka components have a controller: write one of {', '.join(f'controller of {name}' for name in brokers)}"
    return "" if brokers else "there is no kafka component, so there is no controller"


def _coordinator(wanted: Role, brokers: Brokers, components: Mapping[str, Any]) -> str:
    groups = groups_of(components)
    if wanted.of in groups:
        return ""
    if len(brokers) == 1 and any(component.any_group for component in components.values()):
        return ""
    return f"no consumer is in the group '{wanted.of}'. {suggestion(wanted.of, groups)}"


def groups_of(components: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """The groups of all consumers, and topics that each reads."""
    readers = [reader for component in components.values() for reader in component.readers]
    return {reader.name: reader.topics for reader in readers if reader.group}


def broker_for(wanted: Role, components: Mapping[str, Any]) -> Broker:
    """The broker whose servers may hold a role; problems have been looked for already."""
    brokers = brokers_among(components)
    if wanted.kind == "controller" and wanted.of:
        return brokers[wanted.of]
    topics = {"leader": (wanted.of,), "coordinator": groups_of(components).get(wanted.of, ())}.get(
        wanted.kind, ()
    )
    for broker in brokers.values():
        if set(topics) & set(broker.partitions):
            return broker
    return next(iter(brokers.values()))
