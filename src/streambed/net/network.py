"""A network made from a plan: hosts and switches as namespaces, links as wires."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path

from streambed.net import bundles, shaping
from streambed.net.confinement import is_root_of_machine
from streambed.net.delay_line import DelayLine, delay_line
from streambed.net.hosts import TMP, Host, HostFiles, look_afresh, make_room, visit
from streambed.net.netlink import netlink, nfnetlink, rtnetlink
from streambed.net.netlink.netlink import Request
from streambed.net.netlink.nfnetlink import Means, QueueRule
from streambed.net.netlink.rtnetlink import End
from streambed.net.ports import PortCounters
from streambed.net.rerouting import Rerouting, Tables
from streambed.net.shaping import EmulatedDirection
from streambed.net.wires import Apply, Wire
from streambed.plan import DOMAIN, Plan, PlannedNode, Port, Shape
from streambed.record.gauges import DelayLineGauge
from streambed.world import Heal

AT_A_TIME = 50
"""How many hosts are made through one mount of /proc (see hosts.look_afresh)."""
_UNDER_TMP = re.compile(rf"{TMP}/([^/\s'\":;,]+)")


class Network:
    """A network that has been built: hosts, wires and the delay line."""

    def __init__(
        self, plan: Plan, hosts: dict[str, Host], wires: dict[str, Wire], line: DelayLine | None
    ) -> None:
        self.hosts = hosts
        self.wires = wires
        self.ports = PortCounters(
            plan.links, {node.name for node in plan.nodes if node.switch}, hosts
        )
        self._addresses = plan.addresses()
        self._rerouting = Rerouting(plan)
        self._line = line
        self._walls = count(1)

    @property
    def delay_line(self) -> subprocess.Popen[bytes] | None:
        """The process that holds packets back; None where netem does it, or nothing has to."""
        return self._line.process if self._line else None

    @property
    def delay_line_runs(self) -> str:
        """How the kernel lets the delay line run: "in real time", "with short slices", "as any
        process"; empty without one.
        """
        return self._line.scheduled if self._line else ""

    def delay_line_gauges(self) -> tuple[DelayLineGauge, ...]:
        """The last gauges of the delay line, the newest last; none before its first, or without
        one.
        """
        return self._line.gauges() if self._line else ()

    def deafen(self, deaf: Mapping[str, Sequence[str]]) -> Heal:
        """Let each of these hosts drop what comes from the others. Links are left alone."""
        name = f"wall{next(self._walls)}"
        self._change_rules(
            {
                node: nfnetlink.wall(name, [self._addresses[other] for other in others])
                for node, others in deaf.items()
            }
        )
        return lambda: self._change_rules({node: nfnetlink.no_wall(name) for node in deaf})

    def _change_rules(self, rules: dict[str, list[Request]]) -> None:
        visit(
            {
                self.hosts[name]: partial(netlink.send, requests, netlink.NETFILTER)
                for name, requests in rules.items()
            }
        )

    def cut_wires(self) -> frozenset[str]:
        """The names of the wires that carry nothing either way."""
        return frozenset(name for name, wire in self.wires.items() if wire.is_cut)

    def reroute(self, tables: Tables) -> list[str]:
        """Replace the routes by these; returns the nodes whose routes changed."""
        changes = self._rerouting.changes(tables)
        for node, requests in changes.items():
            self.hosts[node].ask(requests)
        return list(changes)


@contextmanager
def network(plan: Plan, directory: Path) -> Iterator[Network]:
    """Build the network of a plan inside this box; it is destroyed with the block. The caller ends
    the processes in it.

    `directory` is the run's folder: the delay line keeps its gauge and log there.
    """
    directions = shaping.directions(plan)
    with ExitStack() as stack:
        hosts = _make_hosts(plan, directory, stack)
        line = _start_delay_line(plan, directory, hosts, directions, stack)
        _connect(plan, hosts, directions)
        _add_rules(hosts, directions)
        if line:
            line.wait_until_ready()
        yield Network(plan, hosts, _wires(directions, _changer(hosts, line, plan.seed)), line)


def host_files(plan: Plan, directory: Path) -> HostFiles:
    """What the hosts of a run find in their file system."""
    return HostFiles(names=directory / "hosts", visible=visible_in_tmp(plan, directory))


def confined_host_files(plan: Plan, directory: Path) -> HostFiles:
    """What hosts find if the run's programs must not change the machine."""
    joined: dict[str, list[Path]] = defaultdict(list)
    for process in plan.processes:
        joined[process.node] += [Path(group, "cgroup.procs") for group in process.groups]
    return replace(
        host_files(plan, directory),
        writable=(directory, *map(Path, plan.writable)),
        group_files={node: tuple(files) for node, files in joined.items()},
    )


def names_file(plan: Plan) -> str:
    """The text of /etc/hosts: every node by name, and by its name in the domain of all."""
    return "127.0.0.1 localhost\n" + "".join(
        f"{address} {name} {name}.{DOMAIN}\n" for name, address in plan.addresses().items()
    )


def visible_in_tmp(plan: Plan, directory: Path) -> tuple[Path, ...]:
    """The entries of the machine's /tmp that hosts still need: those that the plan, the run's
    folder or this Python names.
    """
    seen = (plan.processes, plan.declaration, plan.writable, directory, sys.prefix, *sys.path)
    named = " ".join(map(str, seen))
    return tuple(
        path
        for path in (TMP / entry for entry in sorted(set(_UNDER_TMP.findall(named))))
        if path.exists()
    )


def _make_hosts(plan: Plan, directory: Path, stack: ExitStack) -> dict[str, Host]:
    """The threads that make hosts end with it: each is left in the network that it made last."""
    make_room(nodes=len(plan.nodes), links=len(plan.links))
    confined = is_root_of_machine()
    furnished = (confined_host_files if confined else host_files)(plan, directory)
    furnished.names.write_text(names_file(plan))
    hosts: dict[str, Host] = {}

    def make(nodes: Sequence[PlannedNode]) -> None:
        look_afresh()
        for node in nodes:  # No program runs on a switch, so it needs no file system.
            hosts[node.name] = Host(
                node.name, switch=node.switch, host_files=None if node.switch else furnished
            )
            stack.callback(hosts[node.name].close)

    with ThreadPoolExecutor(plan.machine.cores) as makers:
        for made in [
            makers.submit(make, plan.nodes[first : first + AT_A_TIME])
            for first in range(0, len(plan.nodes), AT_A_TIME)
        ]:
            made.result()
    return {node.name: hosts[node.name] for node in plan.nodes}


def _start_delay_line(
    plan: Plan,
    directory: Path,
    hosts: dict[str, Host],
    directions: tuple[EmulatedDirection, ...],
    stack: ExitStack,
) -> DelayLine | None:
    queues = shaping.delay_line_queues(
        directions, {name: host.namespace for name, host in hosts.items()}
    )
    return (
        stack.enter_context(delay_line(queues, seed=plan.seed, directory=directory))
        if queues
        else None
    )


def _connect(plan: Plan, hosts: dict[str, Host], directions: tuple[EmulatedDirection, ...]) -> None:
    """Make every link first, all at once; then switch on, address, route and shape, node by node.

    The kernel carries requests out one after the other; a thread hands them over while the next are
    written.
    """
    shapes = _disciplines(plan, directions)
    neighbours = _neighbours(plan)
    with ThreadPoolExecutor(1) as messenger:
        handed_over = [
            messenger.submit(netlink.send, [rtnetlink.veth(*ends) for ends in _ends(plan, hosts)])
        ]
        for node in plan.nodes:
            requests = _settings(node, neighbours[node.name]) + shapes[node.name]
            handed_over.append(messenger.submit(hosts[node.name].ask, requests))
    for request in handed_over:
        request.result()


def _ends(plan: Plan, hosts: dict[str, Host]) -> Iterator[Iterator[End]]:
    addresses = plan.addresses()
    for link in plan.links:
        yield (
            End(port=port, address=addresses[port.node], namespace=hosts[port.node].namespace)
            for port in link.ports
        )


def _neighbours(plan: Plan) -> dict[str, dict[Port, str]]:
    """For every node, the address at the other end of each of its ports."""
    addresses = plan.addresses()
    neighbours: dict[str, dict[Port, str]] = {node.name: {} for node in plan.nodes}
    for link in plan.links:
        for port, other in (link.ports, link.ports[::-1]):
            neighbours[port.node][port] = addresses[other.node]
    return neighbours


def _settings(node: PlannedNode, neighbours: dict[Port, str]) -> list[Request]:
    """What a node's interfaces need once they are there."""
    asked = [rtnetlink.up(rtnetlink.LOOPBACK), rtnetlink.address(rtnetlink.LOOPBACK, node.address)]
    for port, neighbour in neighbours.items():
        asked += [
            rtnetlink.up(port),
            rtnetlink.address(port, node.address),
            rtnetlink.neighbour(port, neighbour),
        ]
    by_name = {port.interface: port for port in neighbours}
    return asked + [rtnetlink.route(route, by_name, node.address) for route in node.routes]


def _disciplines(plan: Plan, directions: tuple[EmulatedDirection, ...]) -> dict[str, list[Request]]:
    """What shapes the packets that leave each node, or arrive there."""
    asked: dict[str, list[Request]] = defaultdict(list)
    for direction in directions:
        for node, request in shaping.disciplines(direction, plan.seed):
            asked[node].append(request)
    for port in bundles.ports_without_bundles(plan):
        asked[port.node].append(rtnetlink.disable_bundling(port))
    return asked


def _add_rules(hosts: dict[str, Host], directions: tuple[EmulatedDirection, ...]) -> None:
    """Add the rules of the first host, which shows the means; then those of all others at once."""
    rules: dict[str, list[QueueRule]] = defaultdict(list)
    for direction in directions:
        if direction.means == "delay_line":
            rules[direction.rule.node].append(direction.rule)
    means: Means = "nft queue"
    for name in list(rules)[:1]:
        (means,) = visit({hosts[name]: partial(nfnetlink.add_rules, rules[name])})
    visit(
        {hosts[name]: partial(nfnetlink.add_rules, rules[name], means) for name in list(rules)[1:]}
    )


def _wires(directions: tuple[EmulatedDirection, ...], apply: Apply) -> dict[str, Wire]:
    return {
        there.link.name: Wire((there, back), apply)
        for there, back in zip(directions[::2], directions[1::2], strict=True)
    }


def _changer(hosts: dict[str, Host], line: DelayLine | None, seed: int) -> Apply:
    one_at_a_time = threading.Lock()  # Faults come in threads; the delay line has one input.

    def apply(direction: EmulatedDirection, before: Shape, after: Shape) -> None:
        with one_at_a_time:
            for node, request in shaping.changes(direction, before, after, seed):
                hosts[node].ask([request])
            if line and direction.means == "delay_line":
                line.tell(shaping.queue(direction, after))

    return apply
