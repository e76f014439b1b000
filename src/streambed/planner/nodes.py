"""Nodes, planned: the address of each, and its routes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from streambed.experiment.layout import layout
from streambed.experiment.routing import Routing
from streambed.experiment.topology import SWITCHES_NETWORK, Topology
from streambed.plan import Allowance, PlannedLink, PlannedNode, Route

HOSTS_NETWORK = "10.0"


def address(network: str, number: int) -> str:
    """The address of the host or switch with this number, from 1 on; never one that ends in .0 or .255."""
    high, low = divmod(number - 1, 254)
    return f"{network}.{high}.{low + 1}"


def _addresses(topology: Topology) -> dict[str, str]:
    given = set(topology.addresses.values())
    free = (own for number in count(1) if (own := address(HOSTS_NETWORK, number)) not in given)
    hosts = {name: topology.addresses.get(name) or next(free) for name in topology.host_names()}
    return hosts | {name: address(SWITCHES_NETWORK, number) for number, name in enumerate(topology.switches, 1)}


def nodes_of(topology: Topology, links: tuple[PlannedLink, ...]) -> tuple[PlannedNode, ...]:
    """Every node of a topology whose links are planned."""
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
            allowance=Allowance(
                cpu=topology.cpu[name].fraction if name in topology.cpu else 0.0,
                memory_bytes=topology.memory[name].bytes if name in topology.memory else 0,
            ),
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
