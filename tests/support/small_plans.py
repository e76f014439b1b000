"""Plans of a few nodes, made by hand."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from streambed.plan import Machine, Plan, PlannedLink, PlannedNode, Port, Route, Shape

SWITCH = "10.255.0.1"
MS = 1_000_000


def plan_of(nodes: list[PlannedNode], links: list[PlannedLink], **machine: Any) -> Plan:
    return Plan(
        name="small",
        seed=7,
        duration_ns=0,
        ready_limit_ns=0,
        drain_limit_ns=0,
        directory="",
        machine=Machine(**machine),
        nodes=tuple(nodes),
        links=tuple(links),
        processes=(),
        declaration={},
    )


def link(
    ends: tuple[str, str],
    shapes: tuple[Shape, Shape],
    interfaces: tuple[str, str] = ("eth0", "eth0"),
) -> PlannedLink:
    ports = tuple(
        Port(node=node, interface=name, index=10 + int(name[3:]))
        for node, name in zip(ends, interfaces, strict=True)
    )
    return PlannedLink(
        name="-".join(ends), ports=(ports[0], ports[1]), shapes=shapes, emulated=True
    )


def pair(shape: Shape, **machine: Any) -> Plan:
    """a and b linked directly, the same shape both ways."""
    nodes = [
        PlannedNode(
            name="a",
            switch=False,
            address="10.0.0.1",
            routes=(Route(destination="10.0.0.2/32", interface="eth0"),),
        ),
        PlannedNode(
            name="b",
            switch=False,
            address="10.0.0.2",
            routes=(Route(destination="10.0.0.1/32", interface="eth0"),),
        ),
    ]
    return plan_of(nodes, [link(("a", "b"), (shape, shape))], **machine)


def star(shape: Shape, **machine: Any) -> Plan:
    """a and b behind one switch; the link of a has the shape both ways, the link of b has none."""
    return chain(1, shape, Shape(), **machine)


def chain(switches: int, first: Shape, others: Shape, **machine: Any) -> Plan:
    """a, switch1, switch2 …, b in a row; the link of a has the shape `first`, the others have
    `others`.
    """
    names = [f"switch{number}" for number in range(1, switches + 1)]
    addresses = {name: f"10.255.0.{number}" for number, name in enumerate(names, 1)}
    hosts = {"a": "10.0.0.1", "b": "10.0.0.2"}
    nodes = [_host("a", hosts["a"], addresses[names[0]])]
    for place, name in enumerate(names):  # eth0 looks towards a, eth1 towards b.
        back, on = (
            (addresses[names[place - 1]] if place else ""),
            (addresses[names[place + 1]] if place + 1 < switches else ""),
        )
        routes = (
            Route(destination="10.0.0.1/32", interface="eth0", via=back),
            Route(destination="10.0.0.2/32", interface="eth1", via=on),
        )
        nodes.append(PlannedNode(name=name, switch=True, address=addresses[name], routes=routes))
    nodes.append(_host("b", hosts["b"], addresses[names[-1]]))
    links = [link(("a", names[0]), (first, first))]
    links += [
        link((one, next_one), (others, others), ("eth1", "eth0"))
        for one, next_one in pairwise(names)
    ]
    links.append(link((names[-1], "b"), (others, others), ("eth1", "eth0")))
    return plan_of(nodes, links, **machine)


def _host(name: str, address: str, gateway: str) -> PlannedNode:
    return PlannedNode(
        name=name,
        switch=False,
        address=address,
        routes=(Route(destination="default", interface="eth0", via=gateway),),
    )


def wide(hosts: int) -> Plan:
    """One switch with many hosts, whose links do nothing."""
    routes = [
        Route(destination=_address(number) + "/32", interface=f"eth{number}")
        for number in range(hosts)
    ]
    nodes = [PlannedNode(name="switch", switch=True, address=SWITCH, routes=tuple(routes))]
    nodes += [_host(f"h{number}", _address(number), SWITCH) for number in range(hosts)]
    links = [
        link((f"h{number}", "switch"), (Shape(), Shape()), ("eth0", f"eth{number}"))
        for number in range(hosts)
    ]
    return plan_of(nodes, links)


def pairs_of_switch_and_host(count: int) -> Plan:
    """A row of `count` switches with one host each."""
    nodes, links = [], []
    for here in range(count):
        routes = []
        for there in range(count):
            towards = here + (there > here) - (there < here)
            interface = {0: "eth0", -1: "eth1", 1: "eth2"}[towards - here]
            routes.append(
                Route(
                    destination=_address(there) + "/32",
                    interface=interface,
                    via="" if there == here else _switch(towards),
                )
            )
        nodes.append(
            PlannedNode(
                name=f"switch{here}", switch=True, address=_switch(here), routes=tuple(routes)
            )
        )
        nodes.append(_host(f"h{here}", _address(here), _switch(here)))
        shape = Shape(delay_ns=MS, rate_bps=1_000_000_000)
        links.append(link((f"h{here}", f"switch{here}"), (shape, shape)))
        if here:
            links.append(
                link((f"switch{here - 1}", f"switch{here}"), (shape, shape), ("eth2", "eth1"))
            )
    return plan_of(nodes, links)


def _address(number: int) -> str:
    return f"10.0.{number // 250}.{number % 250 + 1}"


def _switch(number: int) -> str:
    return f"10.255.{number // 250}.{number % 250 + 1}"
