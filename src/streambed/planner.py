"""The planner: an experiment and a machine become a plan. Decides every address, route and command; touches nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

from streambed.errors import MachineError
from streambed.experiment.layout import layout
from streambed.experiment.model import Experiment
from streambed.experiment.references import resolver
from streambed.experiment.routing import Routing
from streambed.experiment.topology import SWITCHES_NETWORK, Link, Topology
from streambed.kinds.components.component import Site
from streambed.kinds.components.consumer import reader
from streambed.kinds.components.kafka import Kafka
from streambed.kinds.faults.fault import Fault
from streambed.plan import SHORTEST_DELAY_NS, Machine, Plan, PlannedLink, PlannedNode, Port, ProcessSpec, Route, Shape
from streambed.units import Bandwidth, Duration, Share

HOSTS_NETWORK = "10.0"
FIRST_INDEX = 2
"""The loopback interface of every node has index 1."""
WITNESS = "witness"
DELEGATE = (
    "to cap the CPU of hosts, run as root, or in a control group (cgroup v2) that is delegated to you with its cpu controller: "
    "systemd-run --user --scope -p Delegate=yes streambed run FILE"
)
"""What to do where CPU caps cannot be had."""
WORD_MAX = 60
"""Longer words of a command are shortened when it is shown."""


def plan_for(experiment: Experiment, machine: Machine, *, base: Path, directory: Path) -> Plan:
    """Decide a run that is kept in `directory`. The experiment has been checked; MachineError if this machine cannot emulate it."""
    links = tuple(_links(experiment))
    _refuse_what_cannot_be(links, experiment.faults, machine, capped=list(experiment.topology.cpu))
    nodes = _nodes(experiment.topology, links)
    declaration = experiment.declaration()
    site = _site(experiment, machine, {node.name: node.address for node in nodes}, base=base, directory=directory)
    processes = [process for component in experiment.components.values() for process in component.processes(site)]
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
        processes=(*processes, *_witnesses(experiment, declaration, site)),
        declaration=declaration,
    )


def address(network: str, number: int) -> str:
    """The address of the host or switch with this number, from 1 on; never one that ends in .0 or .255."""
    high, low = divmod(number - 1, 254)
    return f"{network}.{high}.{low + 1}"


def _addresses(topology: Topology) -> dict[str, str]:
    given = set(topology.addresses.values())
    free = (own for number in count(1) if (own := address(HOSTS_NETWORK, number)) not in given)
    hosts = {name: topology.addresses.get(name) or next(free) for name in topology.host_names()}
    return hosts | {name: address(SWITCHES_NETWORK, number) for number, name in enumerate(topology.switches, 1)}


def _links(experiment: Experiment) -> Iterator[PlannedLink]:
    ends_of_all = [link.ends for link in experiment.topology.links]
    cut = {frozenset(ends) for fault in experiment.faults for ends in fault.emulated(ends_of_all, experiment.components)}
    ports = _Ports(experiment.topology)
    for link in experiment.topology.links:
        first, second = (ports.next(node, name) for node, name in zip(link.ends, link.ports or ("", ""), strict=True))
        shapes = (_shape(link, link.ends[0]), _shape(link, link.ends[1]))
        shaped = any(shape.delay_ns or shape.jitter_ns or shape.loss for shape in shapes)
        yield PlannedLink(name=" – ".join(link.ends), ports=(first, second), shapes=shapes, emulated=shaped or frozenset(link.ends) in cut)


class _Ports:
    """The interfaces of each node, in the order of its links; those without a name are eth0 and on, but for names that are given."""

    def __init__(self, topology: Topology) -> None:
        self._given = {named for link in topology.links for named in zip(link.ends, link.ports or (), strict=False)}
        self._free: dict[str, Iterator[str]] = {}
        self._used: Counter[str] = Counter()

    def next(self, node: str, name: str) -> Port:
        """The next interface of a node."""
        free = self._free.setdefault(node, (eth for number in count() if (node, eth := f"eth{number}") not in self._given))
        self._used[node] += 1
        return Port(node=node, interface=name or next(free), index=FIRST_INDEX + self._used[node] - 1)


def _shape(link: Link, source: str) -> Shape:
    way = link.way(source)
    return Shape(
        delay_ns=way.delay.ns if way.delay else 0,
        jitter_ns=way.jitter.ns if way.jitter else 0,
        loss=way.loss.fraction if way.loss else 0.0,
        rate_bps=way.rate.bps if way.rate else 0,
    )


def _nodes(topology: Topology, links: tuple[PlannedLink, ...]) -> tuple[PlannedNode, ...]:
    addresses, places, routing = _addresses(topology), layout(topology), Routing(topology)
    interfaces: dict[str, dict[str, str]] = {name: {} for name in addresses}
    for link in links:
        for port, other in (link.ports, link.ports[::-1]):
            interfaces[port.node][other.node] = port.interface
    switches = set(topology.switches)
    hosts = [name for name in addresses if name not in switches]
    return tuple(
        PlannedNode(
            name=name,
            switch=name in switches,
            address=own,
            routes=tuple(_routes(name, hosts, switches, routing, addresses, interfaces[name])),
            x=places[name][0],
            y=places[name][1],
            cpu=topology.cpu[name].fraction if name in topology.cpu else 0.0,
        )
        for name, own in addresses.items()
    )


def _routes(
    node: str, hosts: list[str], switches: set[str], routing: Routing, addresses: dict[str, str], interfaces: dict[str, str]
) -> Iterator[Route]:
    """A default route for a host that hangs on one switch; for all others one for each host that can be reached."""
    if node not in switches and len(interfaces) == 1 and (only := next(iter(interfaces))) in switches:
        yield Route(destination="default", interface=interfaces[only], via=addresses[only])
        return
    for host in hosts:
        near = None if host == node else routing.next_hop(node, host)
        if near:
            yield Route(destination=addresses[host], interface=interfaces[near], via="" if near == host else addresses[near])


def _site(experiment: Experiment, machine: Machine, addresses: dict[str, str], *, base: Path, directory: Path) -> Site:
    clusters = _clusters(experiment)
    return Site(
        machine=machine,
        directory=directory,
        base=base,
        seed=experiment.seed,
        duration_ns=experiment.duration.ns,
        addresses=addresses,
        topics={topic: kafka.name for kafka in clusters for topic in kafka.topics},
        bootstraps={kafka.name: kafka.bootstrap for kafka in clusters},
        resolve=resolver(experiment, addresses=addresses, directory=directory),
    )


def _clusters(experiment: Experiment) -> list[Kafka]:
    return [component for component in experiment.components.values() if isinstance(component, Kafka)]


def _witnesses(experiment: Experiment, declaration: dict[str, Any], site: Site) -> Iterator[ProcessSpec]:
    """For each cluster one reader of the topics that checks want read back after the drain."""
    wanted = list(dict.fromkeys(topic for check in experiment.checks for topic in check.witnessed(declaration)))
    clusters = [kafka for kafka in _clusters(experiment) if any(site.topics.get(topic) == kafka.name for topic in wanted)]
    for kafka in clusters:
        topics = tuple(topic for topic in wanted if site.topics.get(topic) == kafka.name)
        witness = reader(site, WITNESS, kafka.nodes[0], topics, group="", settings={"auto.offset.reset": "earliest"}, on_exit="record")
        yield witness if len(clusters) == 1 else replace(witness, name=f"{WITNESS}/{kafka.name}")


def _refuse_what_cannot_be(links: tuple[PlannedLink, ...], faults: Iterable[Fault], machine: Machine, *, capped: list[str]) -> None:
    advice = "`streambed doctor` tells what this machine can emulate and how to mend it"
    if not machine.namespaces:
        raise MachineError("\n".join(["this machine does not let you make the namespaces that hosts live in", *machine.notes, advice]))
    says = [lacking for fault in faults if (lacking := fault.lacks(machine))]
    emulated = [link.name for link in links if link.emulated]
    if emulated and machine.means == "none":
        says.append(f"this machine can neither delay, lose nor cut packets, but {_listed(emulated)} needs it")
    limited = [link.name for link in links if any(shape.rate_bps for shape in link.shapes)]
    if limited and not machine.shaping:
        says.append(f"this machine cannot limit rates, but {_listed(limited)} needs it")
    short = [link.name for link in links if any(0 < shape.delay_ns < SHORTEST_DELAY_NS for shape in link.shapes)]
    if short and machine.means == "delay_line":
        least = Duration(SHORTEST_DELAY_NS)
        says.append(f"without netem this machine cannot delay by less than {least}, as {_listed(short)} asks: give 0s, {least} or more")
    if capped and not machine.caps:
        says.append(f"you may not cap CPU on this machine, as topology.cpu asks for {_listed(capped)}; {DELEGATE}")
    if says:
        raise MachineError("\n".join([*says, advice]))


def _listed(names: list[str]) -> str:
    shown = ", ".join(names[:3])
    return f"{shown} and {len(names) - 3} more" if len(names) > 3 else shown


def describe(plan: Plan) -> str:
    """The plan for people: what `streambed plan` prints."""
    switches = sum(node.switch for node in plan.nodes)
    counts = [
        _count(len(plan.nodes) - switches, "host"),
        _count(switches, "switch", "es"),
        _count(len(plan.links), "link"),
        _count(len(plan.processes), "process", "es"),
    ]
    title = f"{plan.name}: {', '.join(counts)}, {_clock(plan.duration_ns)} of load, seed {plan.seed}"
    names = {node.address: node.name for node in plan.nodes}
    parts: dict[str, list[tuple[str, ...]]] = {
        "nodes": [(node.name, node.address, _routes_text(node, names), _cap_text(node)) for node in plan.nodes],
        "links": [_link_row(link) for link in plan.links],
        "processes": [(process.name, f"on {process.node}", " ".join(map(_shortened, process.argv))) for process in plan.processes],
        "timeline": _timeline(plan),
        "notes": [(note,) for note in plan.notes],
    }
    return "\n".join([title, *(line for heading, rows in parts.items() if rows for line in ["", heading, *_columns(rows)])])


def _count(number: int, noun: str, plural: str = "s") -> str:
    return f"{number} {noun}{'' if number == 1 else plural}"


def _clock(time_ns: int) -> str:
    minutes, seconds = divmod(time_ns / 1e9, 60)
    return f"{int(minutes)}:{seconds:0{2 if seconds.is_integer() else 5}.{0 if seconds.is_integer() else 2}f}"


def _columns(rows: list[tuple[str, ...]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _routes_text(node: PlannedNode, names: dict[str, str]) -> str:
    ways: dict[str, list[str]] = {}
    for route in node.routes:
        way = f"{route.interface}, through {names[route.via]}" if route.via else route.interface
        ways.setdefault(way, []).append("all" if route.destination == "default" else names[route.destination])
    return "; ".join(f"{_listed(hosts)} by {way}" for way, hosts in ways.items())


def _cap_text(node: PlannedNode) -> str:
    return f"at most {Share(node.cpu)} of the machine's CPU" if node.cpu else ""


def _link_row(link: PlannedLink) -> tuple[str, str, str]:
    ends = " – ".join(f"{port.node}/{port.interface}" for port in link.ports)
    there, back = (_shape_text(shape) for shape in link.shapes)
    return ends, there if there == back else f"{there}; back {back}", "emulated" if link.emulated else ""


def _shape_text(shape: Shape) -> str:
    jitter = f" ± {Duration(shape.jitter_ns)}" if shape.jitter_ns else ""
    delay = f"{Duration(shape.delay_ns)}{jitter}" if shape.delay_ns else ""
    loss = f"{Share(shape.loss)} lost" if shape.loss else ""
    return ", ".join(filter(None, [delay, loss, str(Bandwidth(shape.rate_bps)) if shape.rate_bps else ""])) or "as fast as the machine"


def _shortened(word: str) -> str:
    """A word of a command; class paths and orders to agents are long."""
    if len(word) <= WORD_MAX:
        return word
    return f"({word.count('.jar')} jars)" if ".jar:" in word else f"{word[:WORD_MAX]}…"


def _timeline(plan: Plan) -> list[tuple[str, ...]]:
    rows = []
    for fault in plan.declaration["faults"]:
        start, lasts = Duration.parse(fault["at"]), Duration.parse(fault["lasts"])
        other = ", ".join(f"{key} {_plain(value)}" for key, value in fault.items() if value and key not in ("kind", "at", "lasts"))
        rows.append((start.ns, (_clock(start.ns), fault["kind"], other, f"until {_clock(start.ns + lasts.ns)}")))
    return [row for _, row in sorted(rows)]


def _plain(value: object) -> str:
    if isinstance(value, (list, tuple)) and all(isinstance(part, (list, tuple)) for part in value):
        return " | ".join(map(", ".join, value))
    return " – ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
