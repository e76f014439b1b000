"""Fault profiles: named sets of faults that fit any experiment, for `--faults NAME`.

A profile is a function of the experiment: it picks links, brokers and topics that are there, and
times that fit the duration. What it makes are plain faults, which `streambed plan` prints.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from streambed.declare.experiment import Experiment, problems
from streambed.errors import UsageError, suggestion
from streambed.kinds.components.broker import Broker, brokers_among
from streambed.kinds.tables import FAULTS
from streambed.units import Duration

Body = dict[str, Any]
Profile = Callable[[Experiment], Iterator[Body]]


def flaky_wan(experiment: Experiment) -> Iterator[Body]:
    """The slowest links lose packets, vary in delay, and go down now and then."""
    delays = [link.delay.ns if link.delay else 0 for link in experiment.topology.links]
    broken = _links_of_faults(experiment)
    names = experiment.topology.ends_by_name()
    for name, link, delay_ns in zip(names, experiment.topology.links, delays, strict=True):
        if delay_ns * 2 < max(delays):
            continue
        target = link.name or list(link.ends)
        delay = Duration(2 * delay_ns or 20_000_000)
        jitter = Duration(delay.ns // 4)
        values = {"delay": str(delay), "jitter": str(jitter), "loss": "1%"}
        times = {"at": _part(experiment, 0.1), "lasts": _part(experiment, 0.8)}
        yield {"kind": "degrade", "link": target, **times, **values}
        if name in broken:
            continue  # Its own faults may come at any time of the load.
        rhythm = {"down": _part(experiment, 0.01), "up": _part(experiment, 0.01)}
        yield {
            "kind": "flap",
            "link": target,
            "churn": 3,
            "lasts": _part(experiment, 0.05),
            **rhythm,
        }


def _links_of_faults(experiment: Experiment) -> set[str]:
    """The links that the experiment's own faults may cut or change."""
    links = experiment.topology.ends_by_name()
    faults = experiment.faults
    return {name for fault in faults for name in fault.emulated(links, experiment.components)}


def rolling_restart(experiment: Experiment) -> Iterator[Body]:
    """Each cluster of brokers is restarted, one broker after the other."""
    for broker in _brokers(experiment, "rolling_restart"):
        yield {"kind": "restart", "target": broker.name, "at": _part(experiment, 0.2)}


def leader_under_attack(experiment: Experiment) -> Iterator[Body]:
    """Kill the leader of each cluster's first partition three times, looked up each time."""
    for broker in _brokers(experiment, "leader_under_attack"):
        times = {"at": _part(experiment, 0.1), "every": _part(experiment, 0.25), "repeat": 3}
        leader = f"leader of {_first_topic(broker)}/0"
        yield {"kind": "kill", "target": leader, "lasts": _part(experiment, 0.1), **times}


def split_brain(experiment: Experiment) -> Iterator[Body]:
    """The leader of each cluster's first partition is apart from all other brokers; clients reach
    both sides.
    """
    for broker in _brokers(experiment, "split_brain", least=3):
        leader = f"leader of {_first_topic(broker)}/0"
        times = {"at": _part(experiment, 0.2), "lasts": _part(experiment, 0.4)}
        yield {"kind": "partition", "sides": [[leader], [f"all but {leader}"]], **times}


def bad_clock(experiment: Experiment) -> Iterator[Body]:
    """The clock of one broker of each cluster, by the seed, is a minute ahead."""
    for broker in _brokers(experiment, "bad_clock"):
        times = {"at": _part(experiment, 0.2), "lasts": _part(experiment, 0.5)}
        yield {"kind": "skew_clock", "target": f"any of {broker.name}", "ahead": "1min", **times}


PROFILES: dict[str, Profile] = {
    "flaky_wan": flaky_wan,
    "rolling_restart": rolling_restart,
    "leader_under_attack": leader_under_attack,
    "split_brain": split_brain,
    "bad_clock": bad_clock,
}


def with_profile(experiment: Experiment, name: str, base: Path) -> Experiment:
    """The experiment with the faults of a profile besides its own; UsageError if they do not
    fit.
    """
    if name not in PROFILES:
        raise UsageError(f"--faults: there is no profile '{name}'. {suggestion(name, PROFILES)}")
    bodies = list(PROFILES[name](experiment))
    faults = [TypeAdapter(_kind(body["kind"], name)).validate_python(body) for body in bodies]
    changed = replace(experiment, faults=(*experiment.faults, *faults))
    if wrong := problems(changed, base):
        reasons = "\n".join(f"--faults {name}: {problem.key}: {problem.says}" for problem in wrong)
        raise UsageError(reasons)
    return changed


def _kind(kind: str, profile: str) -> Any:
    if kind not in FAULTS:
        raise UsageError(f"--faults {profile}: this streambed has no fault '{kind}'")
    return FAULTS[kind]


def _part(experiment: Experiment, share: float) -> str:
    """A part of the load, in whole milliseconds."""
    return str(Duration(max(10, round(share * experiment.duration.ns / 1e6)) * 1e6))


def _brokers(experiment: Experiment, profile: str, least: int = 1) -> list[Broker]:
    declared = brokers_among(experiment.components).values()
    brokers = [broker for broker in declared if _has_leaders(broker)]
    fitting = [broker for broker in brokers if len(broker.nodes) >= least]
    if fitting:
        return fitting
    some = f"with {least} brokers or more" if brokers else "with topics"
    raise UsageError(
        f"--faults {profile}: it needs a kafka component {some}, and {experiment.name} has none"
    )


def _has_leaders(broker: Broker) -> bool:
    """Whether its topics have partitions, and so leaders."""
    return any(broker.partitions.values())


def _first_topic(broker: Broker) -> str:
    return next(topic for topic, partitions in broker.partitions.items() if partitions)
