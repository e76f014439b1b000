"""Roles of processes: leader of a partition, controller, coordinator of a group, driver of a job.

A fault may name a role as its target. Who holds it is looked up when the fault is injected.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from streambed.errors import Problem, WorldError, suggestion
from streambed.kinds.components.broker import Broker, brokers_among
from streambed.kinds.components.engine import engines_among
from streambed.kinds.declared_components import Components
from streambed.world import World

FORMS = (
    "leader of TOPIC/PARTITION",
    "follower of TOPIC/PARTITION",
    "controller",
    "controller of KAFKA",
    "coordinator of GROUP",
    "transaction coordinator of PRODUCER",
    "driver of JOB",
    "executor of JOB",
)
_ROLE = re.compile(
    r"(?P<kind>leader|follower) of (?P<topic>[^/\s]+)(/(?P<partition>\d+))?"
    r"|(?P<named>(transaction )?coordinator|driver|executor) of (?P<of>\S+)"
    r"|(?P<controller>controller)( of (?P<kafka>\S+))?"
)
_WORDS = ("leader", "follower", "controller", "coordinator", "driver", "executor")
OF_PARTITIONS = ("leader", "follower")
OF_JOBS = ("driver", "executor")


@dataclass(frozen=True, kw_only=True)
class Role:
    """What a process is to a topic, a cluster, a group, a transaction or a job."""

    kind: str
    of: str = ""
    """The topic, the group, the transactional id, the job, or the Kafka component; empty for the
    only Kafka there is.
    """
    partition: int = 0

    def __str__(self) -> str:
        of = f"{self.of}/{self.partition}" if self.kind in OF_PARTITIONS else self.of
        return f"{self.kind} of {of}" if of else self.kind


def role(target: str) -> Role | None:
    """The role that a target names; None if it names none, or spells one wrongly."""
    match = _ROLE.fullmatch(target)
    if not match or (match["named"] == "coordinator" and "/" in match["of"]):
        return None
    if match["controller"]:
        return Role(kind="controller", of=match["kafka"] or "")
    if match["named"]:
        return Role(kind=match["named"], of=match["of"])
    return Role(kind=match["kind"], of=match["topic"], partition=int(match["partition"] or 0))


def means_role(target: str) -> bool:
    """Whether a target is meant as a role, even if misspelt: other names have no blanks."""
    return " " in target or target in _WORDS


def holder_of(wanted: Role, world: World) -> str:
    """The process that holds a role now; WorldError if none does."""
    if wanted.kind == "driver":
        return engines_among(world.components)[wanted.of].driver
    if wanted.kind == "executor":
        raise WorldError(f"an executor of '{wanted.of}' is no process of this run")
    return broker_for(wanted, world.components).role_holder(wanted, world)


def role_problems(
    target: str, components: Components, key: str, also: tuple[str, ...] = ()
) -> list[Problem]:
    """What is wrong with a target that is meant to be a role, or has a form of `also`."""
    wanted = role(target)
    if wanted is None:
        forms = ", ".join((*FORMS, *also))
        return [Problem(key=key, says=f"'{target}' is not a role: write one of {forms}")]
    brokers = brokers_among(components)
    if wanted.kind in OF_JOBS:
        says = _job_problem(wanted, components)
    elif wanted.kind == "transaction coordinator":
        says = _transaction_problem(wanted, components)
    elif wanted.kind in OF_PARTITIONS:
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
        return _follower_problem(wanted, brokers) if wanted.kind == "follower" else ""
    if not partitions:
        return f"'{wanted.of}' has no partitions, so it has no leader"
    existing = "only partition 0" if partitions == 1 else f"partitions 0 to {partitions - 1}"
    return f"'{wanted.of}' has {existing}, not {wanted.partition}"


def _follower_problem(wanted: Role, brokers: Brokers) -> str:
    of_topic = next(broker for broker in brokers.values() if wanted.of in broker.partitions)
    if len(of_topic.nodes) > 1:
        return ""
    return f"{of_topic.name} has one broker, so the leader of '{wanted.of}' has no followers"


def _controller_problem(wanted: Role, brokers: Brokers) -> str:
    if wanted.of:
        if wanted.of in brokers:
            return ""
        return f"there is no kafka component '{wanted.of}'. {suggestion(wanted.of, brokers)}"
    if len(brokers) > 1:
        forms = ", ".join(f"controller of {name}" for name in brokers)
        return f"several kafka components have a controller: write one of {forms}"
    return "" if brokers else "there is no kafka component, so there is no controller"


def _coordinator_problem(wanted: Role, brokers: Brokers, components: Components) -> str:
    groups = groups_of(components)
    if wanted.of in groups:
        return ""
    if len(brokers) == 1 and any(component.any_group for component in components.values()):
        return ""
    return f"no consumer is in the group '{wanted.of}'. {suggestion(wanted.of, groups)}"


def _job_problem(wanted: Role, components: Components) -> str:
    engines = engines_among(components)
    if wanted.of not in engines:
        return f"there is no job '{wanted.of}'. {suggestion(wanted.of, engines)}"
    if wanted.kind == "executor" and not engines[wanted.of].executor_of(components):
        return (
            f"'{wanted.of}' has no executors: its driver runs the tasks. "
            f"Write 'driver of {wanted.of}', or run it on a spark_cluster"
        )
    return ""


def _transaction_problem(wanted: Role, components: Components) -> str:
    ids = [name for component in components.values() for name in component.transactional_ids]
    if wanted.of in ids:
        return ""
    return f"no producer sends transactions as '{wanted.of}'. {suggestion(wanted.of, ids)}"


def groups_of(components: Components) -> dict[str, tuple[str, ...]]:
    """All declared consumer groups, and the topics that each reads."""
    readers = [reader for component in components.values() for reader in component.readers]
    return {reader.name: reader.topics for reader in readers if reader.group}


def _topics_sent_by(transactional_id: str, components: Components) -> tuple[str, ...]:
    for component in components.values():
        if transactional_id in component.transactional_ids:
            topics: tuple[str, ...] = component.topics_written
            return topics
    return ()


def broker_for(wanted: Role, components: Components) -> Broker:
    """The broker whose servers may hold a role; `role_problems` must have found none."""
    brokers = brokers_among(components)
    if wanted.kind == "controller" and wanted.of:
        return brokers[wanted.of]
    topics: tuple[str, ...] = ()
    if wanted.kind in OF_PARTITIONS:
        topics = (wanted.of,)
    elif wanted.kind == "transaction coordinator":
        topics = _topics_sent_by(wanted.of, components)
    elif wanted.kind == "coordinator":
        topics = groups_of(components).get(wanted.of, ())
    for broker in brokers.values():
        if set(topics) & set(broker.partitions):
            return broker
    return next(iter(brokers.values()))
