"""Roles of brokers: leader of a partition, controller, coordinator of a group.

A fault may name a role as its target. Who holds it is looked up when the fault is injected.
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
    r"(?P<kind>leader|coordinator) of (?P<of>[^/\s]+)(/(?P<partition>\d+))?"
    r"|(?P<controller>controller)( of (?P<kafka>\S+))?"
)
_WORDS = ("leader", "controller", "coordinator")


@dataclass(frozen=True, kw_only=True)
class Role:
    """Leader of a partition, controller of a cluster, or coordinator of a group."""

    kind: str
    of: str = ""
    """The topic, the group, or the Kafka component; empty for the only Kafka there is."""
    partition: int = 0

    def __str__(self) -> str:
        of = f"{self.of}/{self.partition}" if self.kind == "leader" else self.of
        return f"{self.kind} of {of}" if of else self.kind


def role(target: str) -> Role | None:
    """The role that a target names; None if it names none, or spells one wrongly."""
    match = _ROLE.fullmatch(target)
    if not match or (match["kind"] == "coordinator" and match["partition"]):
        return None
    if match["controller"]:
        return Role(kind="controller", of=match["kafka"] or "")
    return Role(kind=match["kind"], of=match["of"], partition=int(match["partition"] or 0))


def means_role(target: str) -> bool:
    """Whether a target is meant as a role, even if misspelt: other names have no blanks."""
    return " " in target or target in _WORDS


def role_problems(target: str, components: Mapping[str, Any], key: str) -> list[Problem]:
    """What is wrong with a target that is meant to be a role."""
    wanted = role(target)
    if wanted is None:
        return [Problem(key=key, says=f"'{target}' is not a role: write one of {', '.join(FORMS)}")]
    brokers = brokers_among(components)
    if wanted.kind == "leader":
        says = _leader_problem(wanted, brokers)
    elif wanted.kind == "controller":
        says = _controller_problem(wanted, brokers)
    else:
        says = _coordinator_problem(wanted, brokers, components)
    return [Problem(key=key, says=says)] if says else []


Brokers = Mapping[str, Broker]


def _leader_problem(wanted: Role, brokers: Brokers) -> str:
    topics: dict[str, int] = {}
    for broker in brokers.values():
        topics |= broker.partitions
    if wanted.of not in topics:
        known = suggestion(wanted.of, topics)
        return f"no kafka component declares the topic '{wanted.of}'. {known}"
    partitions = topics[wanted.of]
    if wanted.partition < partitions:
        return ""
    if not partitions:
        return f"'{wanted.of}' has no partitions, so nobody leads it"
    existing = "only partition 0" if partitions == 1 else f"partitions 0 to {partitions - 1}"
    return f"'{wanted.of}' has {existing}, not {wanted.partition}"


def _controller_problem(wanted: Role, brokers: Brokers) -> str:
    if wanted.of:
        if wanted.of in brokers:
            return ""
        return f"there is no kafka component '{wanted.of}'. {suggestion(wanted.of, brokers)}"
    if len(brokers) > 1:
        forms = ", ".join(f"controller of {name}" for name in brokers)
        return f"several kafka components have a controller: write one of {forms}"
    return "" if brokers else "there is no kafka component, so there is no controller"


def _coordinator_problem(wanted: Role, brokers: Brokers, components: Mapping[str, Any]) -> str:
    groups = groups_of(components)
    if wanted.of in groups:
        return ""
    if len(brokers) == 1 and any(component.any_group for component in components.values()):
        return ""
    return f"no consumer is in the group '{wanted.of}'. {suggestion(wanted.of, groups)}"


def groups_of(components: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """All declared consumer groups, and the topics that each reads."""
    readers = [reader for component in components.values() for reader in component.readers]
    return {reader.name: reader.topics for reader in readers if reader.group}


def broker_for(wanted: Role, components: Mapping[str, Any]) -> Broker:
    """The broker whose servers may hold a role; `role_problems` must have found none."""
    brokers = brokers_among(components)
    if wanted.kind == "controller" and wanted.of:
        return brokers[wanted.of]
    topics: tuple[str, ...] = ()
    if wanted.kind == "leader":
        topics = (wanted.of,)
    elif wanted.kind == "coordinator":
        topics = groups_of(components).get(wanted.of, ())
    for broker in brokers.values():
        if set(topics) & set(broker.partitions):
            return broker
    return next(iter(brokers.values()))
