"""Plan nodes: the address of each, and its routes."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

from streambed.plan import Allowance, PlannedLink, PlannedNode
from streambed.planner.layout import layout
from streambed.planner.route_tables import RouteTables

if TYPE_CHECKING:
    from streambed.declare.topology import Topology

HOSTS_NETWORK, SWITCHES_NETWORK = "10.0", "10.255"


def address(network: str, number: int) -> str:
    """The address of host or switch `number`, counted from 1. None ends in .0 or .255."""
    high, low = divmod(number - 1, 254)
    return f"{network}.{high}.{low + 1}"


def _addresses(topology: Topology) -> dict[str, str]:
    declared = set(topology.addresses.values())
    candidates = (address(HOSTS_NETWORK, number) for number in count(1))
    free = (candidate for candidate in candidates if candidate not in declared)
    addresses = {}
    for name in topology.host_names():
        addresses[name] = topology.addresses.get(name) or next(free)
    for number, name in enumerate(topology.switches, 1):
        addresses[name] = address(SWITCHES_NETWORK, number)
    return addresses


def open_nodes(topology: Topology, address: str) -> tuple[PlannedNode, ...]:
    """The hosts of a run outside any box: all are this machine, at `address`."""
    places = layout(topology)
    return tuple(
        PlannedNode(
            name=name,
            switch=False,
            address=address,
            routes=(),
            x=places[name][0],
            y=places[name][1],
        )
        for name in topology.host_names()
    )


def nodes_of(topology: Topology, links: tuple[PlannedLink, ...]) -> tuple[PlannedNode, ...]:
    """Every node of a topology whose links are planned."""
    addresses, places = _addresses(topology), layout(topology)
    routes = RouteTables(topology, links, addresses).tables()
    switches = set(topology.switches)
    return tuple(
        PlannedNode(
            name=name,
            switch=name in switches,
            address=own,
            routes=routes[name],
            x=places[name][0],
            y=places[name][1],
            allowance=Allowance(
                cpu=topology.cpu[name].fraction if name in topology.cpu else 0.0,
                memory_bytes=topology.memory[name].bytes if name in topology.memory else 0,
            ),
        )
        for name, own in addresses.items()
    )
