"""Run an experiment on existing clusters: outside any box, without the emulated network."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from streambed.errors import UsageError
from streambed.kinds.components.component import Component, ExistingCluster

if TYPE_CHECKING:
    from streambed.declare.experiment import Experiment

OPTIONS: dict[ExistingCluster, str] = {"bootstrap": "--bootstrap", "spark_master": "--spark-master"}


def on_existing(
    experiment: Experiment, *, bootstrap: str = "", spark_master: str = ""
) -> Experiment:
    """The experiment with these clusters in place of the declared ones. UsageError if it declares
    nothing that they could replace.
    """
    addresses: dict[ExistingCluster, str] = {"bootstrap": bootstrap, "spark_master": spark_master}
    components = dict(experiment.components)
    for cluster, address in addresses.items():
        if address:
            components = dict(_on_cluster(components, cluster, address, experiment.name))
    return replace(experiment, components=components)


def _on_cluster(
    components: Mapping[str, Component], cluster: ExistingCluster, address: str, experiment: str
) -> Iterator[tuple[str, Component]]:
    """The components with one existing cluster in use."""
    users = [name for name, component in components.items() if _uses(component, cluster, address)]
    if cluster == "bootstrap" and len(users) != 1:
        raise UsageError(
            f"--bootstrap takes the place of one kafka component, but {experiment} declares "
            f"{len(users)}"
        )
    if not users:
        raise UsageError(f"{OPTIONS[cluster]} is for Spark jobs, but {experiment} declares none")
    for name, component in components.items():
        if (changed := component.on_existing(cluster, address)) is not None:
            yield name, changed


def _uses(component: Component, cluster: ExistingCluster, address: str) -> bool:
    """Whether a component uses an existing cluster, rather than being replaced by it."""
    if cluster not in component.takes_existing:
        return False
    return component.on_existing(cluster, address) is not None


def is_outside(experiment: Experiment) -> bool:
    """Whether it runs on an existing cluster, which no box could reach."""
    return any(component.existing_address for component in experiment.components.values())


def existing_address(experiment: Experiment) -> str:
    """The address of the last cluster that exists already, such as spark://HOST:PORT; empty if the
    whole run is inside a box.
    """
    addresses = [component.existing_address for component in experiment.components.values()]
    return next(filter(None, reversed(addresses)), "")


def refuse_what_needs_a_box(experiment: Experiment) -> None:
    """Raise UsageError that names everything that needs a box, and what to do."""
    if refusals := list(_refusals(experiment)):
        raise UsageError("\n".join(refusals))


def left_out(experiment: Experiment) -> str:
    """The note of a run outside any box: what of the declaration has no effect."""
    topology = experiment.topology
    parts = ["this run is outside any box, on what exists already: every host is this machine"]
    if topology.links:
        parts.append(f"the {len(topology.links)} links are not emulated")
    if topology.cpu:
        parts.append("CPU caps of its hosts are left out")
    if topology.memory:
        parts.append("memory caps of its hosts are left out")
    if experiment.capture:
        parts.append("nothing is captured")
    if experiment.expose:
        parts.append("nothing is exposed")
    return "; ".join(parts)


def _refusals(experiment: Experiment) -> Iterator[str]:
    for name, component in experiment.components.items():
        if component.box_reason:
            yield f"components.{name}: {component.box_reason}"
    ours = [name for name, component in experiment.components.items() if not component.as_broker]
    for number, fault in enumerate(experiment.faults):
        if not fault.possible_outside(ours):
            yield (
                f"faults.{number}: {fault.kind} needs the emulated network or our own servers, "
                "and there is no box here: leave faults out with --set 'faults=[]'"
            )
