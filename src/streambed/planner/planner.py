"""Turn an experiment into a plan for one machine: every address, route and command.

Pure: what must be looked up on the machine comes in as arguments.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from streambed.kinds.check_readers import kept_topics, store_readers, witnesses
from streambed.kinds.components.broker import brokers_among
from streambed.kinds.components.plan_context import Loopback, PlanContext
from streambed.kinds.direction import Samples
from streambed.kinds.disks import Preparation, prepare
from streambed.kinds.faults.when.schedule import schedule
from streambed.plan import Exposure, Machine, Plan, PlannedNode, ProcessSpec
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
    context = _context(experiment, machine, nodes, base=base, directory=directory)
    processes = _component_processes(experiment, context)
    captures = captures_of(experiment.capture, links, context)
    return replace(
        _plan(experiment, context, nodes, samples),
        links=links,
        processes=(*captures, *processes, *_check_readers(experiment, context)),
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
    context = _context(
        experiment, machine, nodes, base=base, directory=directory, outside=own_address
    )
    # There is only one network, so no process enters another.
    processes = [
        replace(process, networks=()) for process in _component_processes(experiment, context)
    ]
    return replace(
        _plan(experiment, context, nodes, samples),
        processes=(*processes, *_check_readers(experiment, context)),
        outside=True,
        notes=(left_out(experiment),),
    )


def plan_servers(experiment: Experiment, machine: Machine, *, base: Path, directory: Path) -> Plan:
    """The plan of servers on this machine's loopback, which run until they are interrupted."""
    address = Loopback.address
    nodes = open_nodes(experiment.topology, address)
    context = _context(experiment, machine, nodes, base=base, directory=directory, outside=address)
    # Nothing here expects a server to die.
    processes = [
        replace(process, on_exit="fail") for process in _component_processes(experiment, context)
    ]
    return replace(
        _plan(experiment, context, nodes, {}), processes=tuple(processes), outside=True, serves=True
    )


def _component_processes(experiment: Experiment, context: PlanContext) -> list[ProcessSpec]:
    """The processes of all components, with their limits. MachineError if they need more memory
    than there is.
    """
    killed = _killed_components(experiment)
    slowed = _slowed_components(experiment) if context.machine.cpu_groups else set()
    prepared = _preparations(experiment)
    processes = []
    for component in experiment.components.values():
        for process in component.processes(context):
            limited = with_limits(process, component.limits, context.machine)
            if limited.on_exit == "auto" and component.name not in killed:
                limited = replace(limited, on_exit="fail")
            if component.name in slowed and not limited.allowance.cpu:
                # A group that caps nothing until the fault is injected.
                limited = replace(limited, allowance=replace(limited.allowance, cpu=1.0))
            processes.append(prepare(limited, component, prepared, context.data(component.name)))
    refuse_too_much_memory(processes, context.machine)
    return processes


def _check_readers(experiment: Experiment, context: PlanContext) -> list[ProcessSpec]:
    """What reads topics and stores on behalf of checks."""
    checks, components = experiment.checks, experiment.components
    return [*witnesses(checks, components, context), *store_readers(checks, components, context)]


def _killed_components(experiment: Experiment) -> set[str]:
    killed: set[str] = set()
    for fault in experiment.faults:
        killed.update(fault.killed_components(dict(experiment.components)))
    return killed


def _slowed_components(experiment: Experiment) -> set[str]:
    slowed: set[str] = set()
    for fault in experiment.faults:
        slowed.update(fault.slowed_components(dict(experiment.components)))
    return slowed


def _preparations(experiment: Experiment) -> list[Preparation]:
    components = dict(experiment.components)
    return [one for fault in experiment.faults for one in fault.prepares(components)]


def _plan(
    experiment: Experiment, context: PlanContext, nodes: tuple[PlannedNode, ...], samples: Samples
) -> Plan:
    """What a plan says on the emulated network and outside of it; no links or processes yet."""
    return Plan(
        name=experiment.name,
        seed=experiment.seed,
        duration_ns=experiment.duration.ns,
        ready_limit_ns=experiment.ready.ns,
        drain_limit_ns=experiment.drain.ns,
        directory=str(context.directory),
        machine=context.machine,
        nodes=nodes,
        links=(),
        processes=(),
        declaration=experiment.declaration(),
        warm_up_ns=experiment.warm_up.ns,
        calibrates_rates=experiment.calibrate == "rate",
        reroutes=experiment.topology.reroute is not None,
        writable=tuple(str(context.base.absolute() / path) for path in ("", *experiment.writable)),
        injections=tuple(
            schedule(experiment.faults, duration_ns=experiment.duration.ns, seed=experiment.seed)
        ),
        samples_ns={file: samples[file] for file in sample_files(experiment)},
        stores=dict(context.stores),
    )


def _exposures(experiment: Experiment) -> Iterator[Exposure]:
    for port, text in experiment.expose.items():
        node, target_port = target_of(text)
        yield Exposure(port=port, node=node, target_port=target_port)


def _context(
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
        resolve=resolver(experiment, addresses=addresses, directory=directory, java=machine.java),
        transactional_topics=_transactional_topics(experiment),
        stores=_stores(experiment, directory),
        kept_topics=kept_topics(experiment.checks, experiment.components),
    )


def _transactional_topics(experiment: Experiment) -> frozenset[str]:
    """Topics that a transactional producer writes, or a program whose client is unknown."""
    topics: set[str] = set()
    for component in experiment.components.values():
        if component.hands_in_ledger:
            topics.update(component.topics_written)
        for writer in component.writers:
            if writer.transactional:
                topics.update(writer.topics)
    return frozenset(topics)


def _stores(experiment: Experiment, directory: Path) -> dict[str, Address]:
    stores = [component.as_store for component in experiment.components.values()]
    return {
        store.name: store.store_address(directory / "data" / store.name)
        for store in stores
        if store
    }
