"""A network made from a plan: hosts and switches as namespaces, links as wires."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import chain, count
from pathlib import Path
from typing import Any

from streambed.net import netlink, nfnetlink, rtnetlink, shaping
from streambed.net.delay_line import DelayLine, delay_line
from streambed.net.hosts import TMP, Furniture, Host
from streambed.net.netlink import Request
from streambed.net.nfnetlink import Means, QueueRule
from streambed.net.shaping import Direction
from streambed.net.wires import Apply, Wire
from streambed.plan import Plan, PlannedNode, Port, Shape
from streambed.world import Heal

_UNDER_TMP = re.compile(rf"{TMP}/([^/\s'\":;,]+)")


class Network:
    """What was built, while it lasts."""

    def __init__(self, hosts: dict[str, Host], addresses: dict[str, str], wires: dict[str, Wire], line: DelayLine | None) -> None:
        self.hosts = hosts
        self.wires = wires
        self._addresses = addresses
        self._line = line
        self._walls = count(1)

    @property
    def delay_line(self) -> subprocess.Popen[bytes] | None:
        """The process that holds packets back; None where netem does it, or nothing has to."""
        return self._line.process if self._line else None

    @property
    def delay_line_runs(self) -> str:
        """How the kernel lets the delay line run: "in real time", "with short slices", "as any process"; empty without one."""
        return self._line.scheduled if self._line else ""

    def delay_line_statistics(self) -> dict[str, Any]:
        """The newest gauge of the delay line; empty before its first, or without one."""
        return self._line.statistics() if self._line else {}

    def wire(self, ends: tuple[str, str]) -> Wire:
        """The wire between two nodes, whichever is named first."""
        return next(wire for wire in self.wires.values() if {port.node for port in wire.link.ports} == set(ends))

    def separate(self, sides: Sequence[Sequence[str]]) -> Heal:
        """Let no packet pass between hosts of different sides: each host drops what comes from the others. Links are left alone."""
        name = f"wall{next(self._walls)}"
        foreign = {node: [self._addresses[other] for side in sides if node not in side for other in side] for node in chain(*sides)}
        _at_once(self.hosts, {node: nfnetlink.wall(name, sources) for node, sources in foreign.items()})
        return lambda: _at_once(self.hosts, {node: nfnetlink.no_wall(name) for node in foreign})

    def port_counters(self) -> list[tuple[str, int, int, int, int]]:
        """For every port "node/interface": bytes received and sent, packets received and sent, since it was made."""
        return [(f"{name}/{interface}", *counts) for name, host in self.hosts.items() for interface, *counts in host.counters()]  # type: ignore[misc]


@contextmanager
def network(plan: Plan, directory: Path) -> Iterator[Network]:
    """Build the network of a plan inside this box; it is destroyed with the block. The caller ends the processes in it.

    `directory` is the run's folder: the delay line keeps its gauge and log there.
    """
    ways = shaping.directions(plan)
    with ExitStack() as stack:
        hosts = _make_hosts(plan, directory, stack)
        line = _start_delay_line(plan, directory, hosts, ways, stack)
        _connect(plan, hosts)
        _shape(plan, hosts, ways)
        if line:
            line.wait_until_ready()
        yield Network(hosts, plan.addresses(), _wires(ways, _changer(hosts, line, plan.seed)), line)


def names_file(plan: Plan) -> str:
    """The text of /etc/hosts: every node by name."""
    return "127.0.0.1 localhost\n" + "".join(f"{address} {name}\n" for name, address in plan.addresses().items())


def kept_in_tmp(plan: Plan, directory: Path) -> tuple[Path, ...]:
    """The entries of the machine's /tmp that hosts still need: whatever the plan, the run's folder or this Python names there."""
    named = " ".join(map(str, (plan.processes, plan.declaration, directory, sys.prefix, *sys.path)))
    return tuple(path for path in (TMP / entry for entry in sorted(set(_UNDER_TMP.findall(named)))) if path.exists())


def _make_hosts(plan: Plan, directory: Path, stack: ExitStack) -> dict[str, Host]:
    names = directory / "hosts"
    names.write_text(names_file(plan))
    furniture = Furniture(names=names, kept=kept_in_tmp(plan, directory))
    hosts = {}
    for node in plan.nodes:  # No program runs on a switch, so it needs no file system.
        hosts[node.name] = Host(node.name, switch=node.switch, furniture=None if node.switch else furniture)
        stack.callback(hosts[node.name].close)
    return hosts


def _start_delay_line(
    plan: Plan, directory: Path, hosts: dict[str, Host], ways: tuple[Direction, ...], stack: ExitStack
) -> DelayLine | None:
    queues = shaping.delay_line_queues(ways, {name: host.namespace for name, host in hosts.items()})
    return stack.enter_context(delay_line(queues, seed=plan.seed, directory=directory)) if queues else None


def _connect(plan: Plan, hosts: dict[str, Host]) -> None:
    """Make every link first, from the node of its first port; then switch on, address and route, node by node."""
    pairs: dict[str, list[Request]] = {node.name: [] for node in plan.nodes}
    neighbours: dict[str, dict[Port, str]] = {node.name: {} for node in plan.nodes}
    for link in plan.links:
        near, far = link.ports
        pairs[near.node].append(rtnetlink.veth(near, far, hosts[far.node].namespace))
        neighbours[near.node][near] = far.node
        neighbours[far.node][far] = near.node
    for name, requests in pairs.items():
        _ask(hosts[name], requests)
    addresses = plan.addresses()
    for node in plan.nodes:
        _ask(hosts[node.name], _settings(node, {port: addresses[name] for port, name in neighbours[node.name].items()}))


def _settings(node: PlannedNode, neighbours: dict[Port, str]) -> list[Request]:
    """What a node's interfaces need once they are there. A hardware address comes first: a change of it forgets neighbours."""
    asked = [rtnetlink.up(rtnetlink.LOOPBACK), rtnetlink.address(rtnetlink.LOOPBACK, node.address)]
    for port, neighbour in neighbours.items():
        asked += [rtnetlink.hardware(port, node.address), rtnetlink.up(port)]
        asked += [rtnetlink.address(port, node.address), rtnetlink.neighbour(port, neighbour)]
    by_name = {port.interface: port for port in neighbours}
    return asked + [rtnetlink.route(route, by_name[route.interface], node.address) for route in node.routes]


def _shape(plan: Plan, hosts: dict[str, Host], ways: tuple[Direction, ...]) -> None:
    disciplines: dict[str, list[Request]] = defaultdict(list)
    rules: dict[str, list[QueueRule]] = defaultdict(list)
    for way in ways:
        disciplines[way.sender.node] += shaping.disciplines(way, plan.seed)
        if way.means == "delay_line":
            rules[way.rule.node].append(way.rule)
    for name, requests in disciplines.items():
        _ask(hosts[name], requests)
    _add_rules(hosts, rules)
    for port in shaping.ports_without_offload(plan):
        _ask(hosts[port.node], [rtnetlink.unbundled(port)])


def _add_rules(hosts: dict[str, Host], rules: dict[str, list[QueueRule]]) -> None:
    """The first host finds out by which means; the others go at once: the kernel makes each wait, but not for each other."""
    means: Means = "nft queue"
    for name in list(rules)[:1]:
        means = hosts[name].call(partial(nfnetlink.add_rules, rules[name]))
    begun = [hosts[name].begin(partial(nfnetlink.add_rules, rules[name], means)) for name in list(rules)[1:]]
    for future in begun:
        future.result()


def _ask(host: Host, requests: list[Request]) -> None:
    if requests:
        host.call(lambda: netlink.send(requests))


def _at_once(hosts: dict[str, Host], rules: dict[str, list[Request]]) -> None:
    """Change the packet rules of many hosts; the kernel makes each wait, but not for each other."""
    begun = [hosts[name].begin(partial(netlink.send, requests, netlink.NETFILTER)) for name, requests in rules.items()]
    for future in begun:
        future.result()


def _wires(ways: tuple[Direction, ...], apply: Apply) -> dict[str, Wire]:
    return {there.link.name: Wire((there, back), apply) for there, back in zip(ways[::2], ways[1::2], strict=True)}


def _changer(hosts: dict[str, Host], line: DelayLine | None, seed: int) -> Apply:
    def apply(way: Direction, before: Shape, after: Shape) -> None:
        _ask(hosts[way.sender.node], shaping.changes(way, before, after, seed))
        if line and way.means == "delay_line":
            line.tell(shaping.queue(way, after))

    return apply
