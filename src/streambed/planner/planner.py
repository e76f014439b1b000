"""Turn an experiment into a plan for one machine: every address, route and command.

Pure: what must be looked up on the machine comes in as arguments.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from streambed.kinds.components.broker import brokers_among
from streambed.kinds.components.plan_context import PlanContext
from streambed.kinds.direction import Samples
from streambed.plan import WITNESS, Exposure, Machine, Plan, PlannedNode, ProcessSpec
from streambed.planner.captures import captures_of
from streambed.planner.existing import is_outside, left_out, refuse_what_needs_a_box
from streambed.planner.expose import target_of
from streambed.planner.limits import refuse_limits, with_limits
from streambed.planner.links import links_of
from streambed.planner.nodes import nodes_of, open_nodes
from streambed.planner.references import resolver
from streambed.planner.refusals import refuse_too_much_memory, refuse_what_cannot_be
from streambed.planner.shapes import read_samples, sample_files, with_mean_delays
from streambed.stores.store import Address

if TYPE_CHECKING:
    from streambed.declare.experiment import Experiment


def plan_for(
    experiment: Experiment, machine: Machine, *, base: Path, directory: Path, own_address: str = ""
) -> Plan:
    """Plan a run of a checked experiment; `directory` is the run's folder.

    A run on existing clusters needs `own_address`, at which they reach this machine. Raises
    UsageError for what such a run cannot have, MachineError for what this machine cannot emulate.
    """
    if is_outside(experiment):
        return _outside_plan(experiment, machine, base, directory, own_address)
    samples, _ = read_samples(experiment, base)
    links = tuple(links_of(experiment, samples))
    refuse_what_cannot_be(links, experiment.faults, machine)
    refuse_limits(experiment, machine)
    nodes = nodes_of(with_mean_delays(experiment.topology, samples), links)
    site = _site(experiment, machine, nodes, base=base, directory=directory)
    processes = _component_processes(experiment, site)
    captures = captures_of(experiment.capture, links, site)
    return replace(
        _plan(experiment, site, nodes, samples),
        links=links,
        processes=(*captures, *processes, *_witnesses(experiment, site)),
        exposures=tuple(_exposures(experiment)),
    )


def _outside_plan(
    experiment: Experiment, machine: Machine, base: Path, directory: Path, own_address: str
) -> Plan:
    """The plan of a run on existing clusters: no links, and every host is this machine."""
    refuse_what_needs_a_box(experiment)
    samples, _ = read_samples(experiment, base)
    refuse_what_cannot_be((), experiment.faults, machine)
    refuse_limits(experiment, machine)
    nodes = open_nodes(experiment.topology, own_address)
    site = _site(experiment, machine, nodes, base=base, directory=directory, outside=own_address)
    # There is only one network, so no process enters another.
    processes = [
        replace(process, networks=()) for process in _component_processes(experiment, site)
    ]
    return replace(
        _plan(experiment, site, nodes, samples),
        processes=(*processes, *_witnesses(experiment, site)),
        outside=True,
        notes=(left_out(experiment),),
    )


def _component_processes(experiment: Experiment, site: PlanContext) -> list[ProcessSpec]:
    """The processes of all components, with their limits. MachineError if they need more memory
    than there is.
    """
    processes = []
    for component in experiment.components.values():
        for process in component.processes(site):
            processes.append(with_limits(process, component.limits, site.machine))
    refuse_too_much_memory(processes, site.machine)
    return processes


def _plan(
    experiment: Experiment, site: PlanContext, nodes: tuple[PlannedNode, ...], samples: Samples
) -> Plan:
    """What a plan says on the emulated network and outside of it; no links or processes yet."""
    return Plan(
        name=experiment.name,
        seed=experiment.seed,
        duration_ns=experiment.duration.ns,
        ready_limit_ns=experiment.ready.ns,
        drain_limit_ns=experiment.drain.ns,
        directory=str(site.directory),
        machine=site.machine,
        nodes=nodes,
        links=(),
        processes=(),
        declaration=experiment.declaration(),
        samples_ns={file: samples[file] for file in sample_files(experiment)},
        stores=dict(site.stores),
    )


def _exposures(experiment: Experiment) -> Iterator[Exposure]:
    for port, text in experiment.expose.items():
        node, target_port = target_of(text)
        yield Exposure(port=port, node=node, target_port=target_port)


def _site(
    experiment: Experiment,
    machine: Machine,
    nodes: tuple[PlannedNode, ...],
    *,
    base: Path,
    directory: Path,
    outside: str = "",
) -> PlanContext:
    addresses = {node.name: node.address for node in nodes}
    return PlanContext(
        machine=machine,
        directory=directory,
        base=base,
        seed=experiment.seed,
        duration_ns=experiment.duration.ns,
        addresses=addresses,
        numbers={name: number for number, name in enumerate(experiment.components)},
        brokers=brokers_among(experiment.components),
        outside=outside,
        resolve=resolver(experiment, addresses=addresses, directory=directory),
        stores=_stores(experiment, directory),
    )


def _stores(experiment: Experiment, directory: Path) -> dict[str, Address]:
    stores = [component.as_store for component in experiment.components.values()]
    return {
        store.name: store.store_address(directory / "data" / store.name)
        for store in stores
        if store
    }


def _witnesses(experiment: Experiment, site: PlanContext) -> Iterator[ProcessSpec]:
    """For each broker one reader of the topics that checks want read back after the drain."""
    wanted: dict[str, None] = {}
    for check in experiment.checks:
        wanted |= dict.fromkeys(check.witnessed(experiment.components))
    topics_of = {
        name: tuple(topic for topic in wanted if topic in broker.partitions)
        for name, broker in site.brokers.items()
    }
    brokers = [broker for broker in site.brokers.values() if topics_of[broker.name]]
    for broker in brokers:
        name = WITNESS if len(brokers) == 1 else f"{WITNESS}/{broker.name}"
        if process := broker.read_back(site, topics_of[broker.name], name):
            yield process
