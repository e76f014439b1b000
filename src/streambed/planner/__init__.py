"""The planner: an experiment and a machine become a plan. Decides every address, route and command; touches nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from streambed.experiment.existing import is_outside, left_out, own_address, refuse_what_needs_a_box
from streambed.experiment.expose import target_of
from streambed.experiment.model import Experiment
from streambed.experiment.references import resolver
from streambed.experiment.shapes import read_samples, with_mean_delays
from streambed.kinds.components.component import Site
from streambed.kinds.components.consumer import reader
from streambed.kinds.components.kafka import Kafka
from streambed.kinds.components.kafka_clients import READER, client_settings
from streambed.kinds.components.store import Store
from streambed.kinds.faults.degrade import Degrade
from streambed.plan import Exposure, Machine, Plan, ProcessSpec
from streambed.planner.captures import captures_of
from streambed.planner.description import describe
from streambed.planner.limits import limited, refuse_limits
from streambed.planner.links import links_of
from streambed.planner.nodes import nodes_of, open_nodes
from streambed.planner.refusals import refuse_too_much_memory, refuse_what_cannot_be
from streambed.record.orders import ConsumerMember, ConsumerOrder
from streambed.stores.store import Address

__all__ = ["describe", "plan_for"]

WITNESS = "witness"


def plan_for(experiment: Experiment, machine: Machine, *, base: Path, directory: Path) -> Plan:
    """Decide a run that is kept in `directory`. The experiment has been checked; MachineError if this machine cannot emulate it."""
    outside = is_outside(experiment)
    if outside:
        refuse_what_needs_a_box(experiment)
    samples, _ = read_samples(experiment, base)
    links = () if outside else tuple(links_of(experiment, samples))
    refuse_what_cannot_be(links, experiment.faults, machine)
    refuse_limits(experiment, machine)
    nodes = open_nodes(experiment) if outside else nodes_of(with_mean_delays(experiment.topology, samples), links)
    declaration = experiment.declaration()
    site = _site(experiment, machine, {node.name: node.address for node in nodes}, base=base, directory=directory)
    processes = [
        limited(process, component.limits, machine) for component in experiment.components.values() for process in component.processes(site)
    ]
    if outside:
        processes = [replace(process, networks=()) for process in processes]  # There is one network, and all are in it.
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
            *_witnesses(experiment, declaration, site),
        ),
        declaration=declaration,
        samples_ns={fault.samples: samples[fault.samples] for fault in experiment.faults if isinstance(fault, Degrade) and fault.samples},
        exposures=() if outside else tuple(_exposures(experiment)),
        stores=dict(site.stores),
        outside=outside,
        notes=(left_out(experiment),) if outside else (),
    )


def _exposures(experiment: Experiment) -> Iterator[Exposure]:
    for port, text in experiment.expose.items():
        node, target_port = target_of(text)
        yield Exposure(port=port, node=node, target_port=target_port)


def _site(experiment: Experiment, machine: Machine, addresses: dict[str, str], *, base: Path, directory: Path) -> Site:
    clusters = _clusters(experiment)
    return Site(
        machine=machine,
        directory=directory,
        base=base,
        seed=experiment.seed,
        duration_ns=experiment.duration.ns,
        addresses=addresses,
        numbers={name: number for number, name in enumerate(experiment.components)},
        topics={topic: kafka.name for kafka in clusters for topic in kafka.topics},
        bootstraps={kafka.name: kafka.bootstrap for kafka in clusters},
        outside=own_address(experiment) if is_outside(experiment) else "",
        resolve=resolver(experiment, addresses=addresses, directory=directory),
        stores=_stores(experiment, directory),
    )


def _clusters(experiment: Experiment) -> list[Kafka]:
    return [component for component in experiment.components.values() if isinstance(component, Kafka)]


def _stores(experiment: Experiment, directory: Path) -> dict[str, Address]:
    stores = [component for component in experiment.components.values() if isinstance(component, Store)]
    return {store.name: store.store_address(directory / "data" / store.name) for store in stores}


def _witnesses(experiment: Experiment, declaration: dict[str, Any], site: Site) -> Iterator[ProcessSpec]:
    """For each cluster one reader of the topics that checks want read back after the drain."""
    wanted = list(dict.fromkeys(topic for check in experiment.checks for topic in check.witnessed(declaration)))
    clusters = [kafka for kafka in _clusters(experiment) if any(site.topics.get(topic) == kafka.name for topic in wanted)]
    for kafka in clusters:
        topics = tuple(topic for topic in wanted if site.topics.get(topic) == kafka.name)
        name = WITNESS if len(clusters) == 1 else f"{WITNESS}/{kafka.name}"
        order = ConsumerOrder(
            reader=READER,
            members=(ConsumerMember(name=WITNESS, client={"group.id": WITNESS}),),
            topics=topics,
            client=client_settings(site.bootstrap_for(topics), {"auto.offset.reset": "earliest"}),
        )
        yield reader(site, name, order, kafka.nodes[:1], component=WITNESS, on_exit="record")
