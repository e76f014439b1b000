"""The planner: an experiment and a machine become a plan. Decides every address, route and command;
touches nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from streambed.kinds.components.broker import brokers_among
from streambed.kinds.components.plan_context import PlanContext
from streambed.plan import WITNESS, Exposure, Machine, Plan, ProcessSpec
from streambed.planner.captures import captures_of
from streambed.planner.existing import is_outside, left_out, own_address, refuse_what_needs_a_box
from streambed.planner.expose import target_of
from streambed.planner.limits import limited, refuse_limits
from streambed.planner.links import links_of
from streambed.planner.nodes import nodes_of, open_nodes
from streambed.planner.references import resolver
from streambed.planner.refusals import refuse_too_much_memory, refuse_what_cannot_be
from streambed.planner.shapes import read_samples, sample_files, with_mean_delays
from streambed.stores.store import Address

if TYPE_CHECKING:
    from streambed.declare.experiment import Experiment


def plan_for(experiment: Experiment, machine: Machine, *, base: Path, directory: Path) -> Plan:
    """Decide a run that is kept in `directory`. The experiment has been checked; MachineError if
    this machine cannot emulate it.
    """
    outside = is_outside(experiment)
    if outside:
        refuse_what_needs_a_box(experiment)
    samples, _ = read_samples(experiment, base)
    links = () if outside else tuple(links_of(experiment, samples))
    refuse_what_cannot_be(links, experiment.faults, machine)
    refuse_limits(experiment, machine)
    nodes = (
        open_nodes(experiment)
        if outside
        else nodes_of(with_mean_delays(experiment.topology, samples), links)
    )
    declaration = experiment.declaration()
    site = _site(
        experiment,
        machine,
        {node.name: node.address for node in nodes},
        base=base,
        directory=directory,
    )
    processes = [
        limited(process, component.limits, machine)
        for component in experiment.components.values()
        for process in component.processes(site)
    ]
    if outside:
        processes = [
            replace(process, networks=()) for process in processes
        ]  # There is one network, and all are in it.
    refuse_too_much_memory(processes, machine)
    return Plan(
        name=experiment.name,
        seed=experiment.seed,
        duration_ns=experiment.duration.ns,
        ready_limit_ns=experiment.ready.ns,
        drain_limit_ns=experiment.drain.ns,
        directory=str(directory),
        machine=machine,
        nodes=nodes,
        links=links,
        processes=(
            *captures_of(None if outside else experiment.capture, links, site),
            *processes,
            *_witnesses(experiment, site),
        ),
        declaration=declaration,
        samples_ns={file: samples[file] for file in sample_files(experiment)},
        exposures=() if outside else tuple(_exposures(experiment)),
        stores=dict(site.stores),
        outside=outside,
        notes=(left_out(experiment),) if outside else (),
    )


def _exposures(experiment: Experiment) -> Iterator[Exposure]:
    for port, text in experiment.expose.items():
        node, target_port = target_of(text)
        yield Exposure(port=port, node=node, target_port=target_port)


def _site(
    experiment: Experiment,
    machine: Machine,
    addresses: dict[str, str],
    *,
    base: Path,
    directory: Path,
) -> PlanContext:
    return PlanContext(
        machine=machine,
        directory=directory,
        base=base,
        seed=experiment.seed,
        duration_ns=experiment.duration.ns,
        addresses=addresses,
        numbers={name: number for number, name in enumerate(experiment.components)},
        brokers=brokers_among(experiment.components),
        outside=own_address(experiment) if is_outside(experiment) else "",
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
    wanted = dict.fromkeys(
        topic for check in experiment.checks for topic in check.witnessed(experiment.components)
    )
    topics = {
        name: tuple(topic for topic in wanted if topic in broker.partitions)
        for name, broker in site.brokers.items()
    }
    concerned = [broker for broker in site.brokers.values() if topics[broker.name]]
    for broker in concerned:
        name = WITNESS if len(concerned) == 1 else f"{WITNESS}/{broker.name}"
        if process := broker.read_back(site, topics[broker.name], name):
            yield process
