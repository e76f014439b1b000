"""Targets that mean several processes of one component, or any one of them.

any broker · any of KAFKA · every broker · every of KAFKA but ROLE · all but ROLE
minority of KAFKA
"""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Mapping
from dataclasses import dataclass

from streambed.errors import Problem, suggestion
from streambed.kinds.components.broker import Broker, brokers_among
from streambed.kinds.components.roles import broker_for, role, role_problems
from streambed.kinds.declared_components import Components
from streambed.units import count_of
from streambed.world import World

CROWD_FORMS = ("any broker", "any of KAFKA", "every broker but ROLE", "minority of KAFKA")
_CROWD = re.compile(
    r"(?P<how>any|every) (broker|of (?P<of>\S+))( but (?P<but>.+))?"
    r"|(?P<minority>minority) of (?P<few>\S+)"
    r"|all but (?P<rest>.+)"
)


@dataclass(frozen=True, kw_only=True)
class Crowd:
    """Some brokers of one component."""

    how: str
    """any: one, by the seed; every: all; minority: fewer than half, by the seed."""
    of: str = ""
    """The component; empty for the only one, or that of `but`."""
    but: str = ""
    """The role or the process that is left out."""


def crowd(target: str) -> Crowd | None:
    """The crowd that a target names; None if it names none."""
    match = _CROWD.fullmatch(target)
    if not match:
        return None
    if match["minority"]:
        return Crowd(how="minority", of=match["few"])
    if match["rest"]:
        return Crowd(how="every", but=match["rest"])
    return Crowd(how=match["how"], of=match["of"] or "", but=match["but"] or "")


def crowd_problems(wanted: Crowd, components: Components, key: str) -> list[Problem]:
    """What is wrong with a crowd: an unknown component, or one with too few brokers."""
    brokers = brokers_among(components)
    if wanted.of and wanted.of not in brokers:
        says = f"there is no kafka component '{wanted.of}'. {suggestion(wanted.of, brokers)}"
        return [Problem(key=key, says=says)]
    if not brokers:
        return [Problem(key=key, says="there is no kafka component, so there is no broker")]
    problems = _left_out_problems(wanted, components, key)
    if problems:
        return problems
    if not (wanted.of or wanted.but) and len(brokers) > 1:
        forms = ", ".join(f"{wanted.how} of {name}" for name in brokers)
        return [Problem(key=key, says=f"several components have brokers: write one of {forms}")]
    broker = crowd_broker(wanted, components)
    least = _least_brokers(wanted)
    count = len(broker.nodes)
    if count >= least:
        return []
    says = f"{broker.name} has only {count_of(count, 'broker')}"
    return [Problem(key=key, says=f"{says}: '{wanted.how}' needs {least} or more here")]


def _left_out_problems(wanted: Crowd, components: Components, key: str) -> list[Problem]:
    """What is wrong with `but`: an unknown role or process."""
    if role(wanted.but):
        return role_problems(wanted.but, components, key)
    processes = _processes(brokers_among(components))
    if not wanted.but or wanted.but in processes:
        return []
    says = f"there is no '{wanted.but}'. {suggestion(wanted.but, processes)}"
    return [Problem(key=key, says=says)]


def _least_brokers(wanted: Crowd) -> int:
    """How many brokers a component must have for a crowd."""
    if wanted.how == "minority":
        return 3
    return 2 if wanted.but else 1


def _processes(brokers: Mapping[str, Broker]) -> list[str]:
    return [f"{broker.name}/{node}" for broker in brokers.values() for node in broker.nodes]


def crowd_broker(wanted: Crowd, components: Components) -> Broker:
    """The component whose brokers are meant; `crowd_problems` must have found none."""
    brokers = brokers_among(components)
    if wanted.of:
        return brokers[wanted.of]
    left_out = role(wanted.but)
    if left_out:
        return broker_for(left_out, components)
    return brokers.get(wanted.but.partition("/")[0], next(iter(brokers.values())))


def members(wanted: Crowd, world: World) -> tuple[str, ...]:
    """The processes that a crowd means now."""
    broker = crowd_broker(wanted, world.components)
    names = [f"{broker.name}/{node}" for node in broker.nodes]
    if wanted.but:
        left_out = world.holder(wanted.but) if role(wanted.but) else wanted.but
        names = [name for name in names if name != left_out]
    if wanted.how == "every":
        return tuple(names)
    count = 1 if wanted.how == "any" else (len(broker.nodes) - 1) // 2
    return tuple(sorted(draw(names, count, world, str(wanted))))


def draw(names: list[str], count: int, world: World, purpose: str) -> list[str]:
    """Some of these, by the run's seed; each call draws again."""
    times = world.keep(f"draws of {purpose}", itertools.count)
    return random.Random(f"{world.plan.seed} {purpose} {next(times)}").sample(names, count)
