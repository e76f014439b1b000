"""The same experiment on clusters that exist already: outside any box, without the emulated network and what only that can do."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from streambed.errors import UsageError, WorldError
from streambed.kinds.components.kafka import Kafka
from streambed.kinds.components.spark_job import SparkJob

if TYPE_CHECKING:
    from streambed.experiment.model import Experiment

KINDS = ("kafka", "producer", "consumer", "spark_job", "sink", "embedded", "command")
"""What can run outside: clients, and files."""


def on_existing(experiment: Experiment, *, bootstrap: str = "", spark_master: str = "") -> Experiment:
    """The experiment with these clusters in place of those that it declares; UsageError if it has no use for them."""
    components = dict(experiment.components)
    if bootstrap:
        brokers = [name for name, component in components.items() if isinstance(component, Kafka)]
        if len(brokers) != 1:
            raise UsageError(f"--bootstrap takes the place of one kafka component, but {experiment.name} declares {len(brokers)}")
        components[brokers[0]] = _changed(components[brokers[0]], existing=bootstrap)
    if spark_master:
        jobs = [name for name, component in components.items() if isinstance(component, SparkJob)]
        if not jobs:
            raise UsageError(f"--spark-master is for Spark jobs, but {experiment.name} declares none")
        components = {name: component for name, component in components.items() if component.kind != "spark_cluster"}
        components |= {name: _changed(components[name], cluster=spark_master) for name in jobs}
    return replace(experiment, components=components)


def _changed(component: Any, **changes: str) -> Any:
    return replace(component, **changes)


def is_outside(experiment: Experiment) -> bool:
    """Whether it runs on anything that exists already, which no box could reach."""
    return any(_door(component) for component in experiment.components.values())


def own_address(experiment: Experiment) -> str:
    """The address of this machine by which those clusters reach it."""
    doors = [door for component in experiment.components.values() if (door := _door(component))]
    host, _, port = doors[-1].rpartition("://")[2].split(",")[0].rpartition(":")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((host, int(port)))  # Nothing is sent: the kernel only chooses an address.
        except (OSError, ValueError) as error:
            raise WorldError(
                f"'{doors[-1]}' cannot be reached: {error}. Give it as HOST:PORT, Spark's master as spark://HOST:PORT"
            ) from None
        return str(probe.getsockname()[0])


def refuse_what_needs_a_box(experiment: Experiment) -> None:
    """UsageError that names all that cannot be outside, and what to do."""
    if found := list(_refused(experiment)):
        raise UsageError("\n".join(found))


def left_out(experiment: Experiment) -> str:
    """What the user should know of a run outside."""
    topology = experiment.topology
    parts = [f"the {len(topology.links)} links are not emulated"] if topology.links else []
    parts += [f"{what} of its hosts are left out" for what, caps in (("CPU caps", topology.cpu), ("memory caps", topology.memory)) if caps]
    parts += ["nothing is captured"] if experiment.capture else []
    parts += ["nothing is exposed"] if experiment.expose else []
    return "; ".join(["this run is outside any box, on what exists already: every host is this machine", *parts])


def _door(component: Any) -> str:
    """Where a component finds a cluster that exists already; empty if it needs none."""
    if isinstance(component, Kafka):
        return component.existing
    return component.cluster if isinstance(component, SparkJob) and component.on_existing else ""


def _refused(experiment: Experiment) -> Iterator[str]:
    for name, component in experiment.components.items():
        if component.kind == "spark_cluster":
            yield f"components.{name}: a spark_cluster needs emulated hosts, and there is no box here: name one with --spark-master"
        elif isinstance(component, Kafka) and not component.existing:
            yield f"components.{name}: its brokers need emulated hosts, and there is no box here: name others with --bootstrap"
        elif component.kind not in KINDS:
            yield f"components.{name}: a component of kind {component.kind} needs emulated hosts, and there is no box here: leave it out"
    ours = [name for name, component in experiment.components.items() if component.kind != "kafka"]
    for number, fault in enumerate(experiment.faults):
        if fault.kind not in ("kill", "pause") or getattr(fault, "target", "").partition("/")[0] not in ours:
            yield (
                f"faults.{number}: {fault.kind} needs the emulated network or our own servers, and there is no box here: "
                "leave faults out with --set 'faults=[]'"
            )
