"""The ways of packets, followed through the route tables as a kernel would: by the longest
match.
"""

from __future__ import annotations

import ipaddress
import random
from itertools import pairwise, product
from typing import Any

import networkx as nx
import pytest

from streambed.declare.experiment import Experiment
from streambed.declare.link import Link
from streambed.declare.topology import Topology
from streambed.plan import PlannedLink, Route
from streambed.planner import route_tables
from streambed.planner.links import links_of
from streambed.planner.nodes import nodes_of
from streambed.planner.route_tables import RouteTables, summary
from streambed.planner.routing import Hop, Routing


class Net:
    """A topology, its planned links, and route tables to follow."""

    def __init__(self, topology: Topology, *failed: int) -> None:
        self.topology = topology
        assert topology.problems() == []
        self.links: tuple[PlannedLink, ...] = tuple(
            links_of(Experiment(name="net", duration="1s", topology=topology, components=[]), {}),
        )
        self.addresses = {node.name: node.address for node in nodes_of(topology, self.links)}
        self.failed = frozenset(failed)
        self.tables = RouteTables(topology, self.links, self.addresses).tables(self.failed)
        self.far = {
            (port.node, port.interface): (other.node, at) for at, port, other in self._ends()
        }

    def _ends(self) -> Any:
        for at, link in enumerate(self.links):
            yield at, link.ports[0], link.ports[1]
            yield at, link.ports[1], link.ports[0]

    def route(self, node: str, host: str) -> Route | None:
        """The route of the longest match."""
        address = ipaddress.ip_address(self.addresses[host])

        def bits(route: Route) -> int:
            block = ipaddress.ip_network(
                "0.0.0.0/0" if route.destination == "default" else route.destination
            )
            return block.prefixlen if address in block else -1

        best = max(self.tables[node], key=bits, default=None)
        return best if best and bits(best) >= 0 else None

    def path(self, source: str, host: str) -> list[str]:
        """The nodes that a packet passes; it ends where there is no route, at a link that failed,
        or after too many steps.
        """
        path = [source]
        while path[-1] != host and len(path) <= len(self.addresses):
            route = self.route(path[-1], host)
            if route is None:
                break
            near, link = self.far[path[-1], route.interface]
            assert route.via in ("", self.addresses[near])
            if link in self.failed:
                path.append("cut")
                break
            path.append(near)
        return path


def random_network(seed: int, **changes: Any) -> Topology:
    """Switches and hosts at random: some switches in branches, some hosts with two links, some
    links twice.
    """
    draw = random.Random(seed)
    switches = [f"s{number}" for number in range(draw.randint(2, 9))]
    pairs = [(draw.choice(switches[:at]), switches[at]) for at in range(1, len(switches))]
    pairs += [
        (one, other) for one, other in (draw.sample(switches, 2) for _ in range(draw.randint(0, 5)))
    ]
    hosts = [f"h{number}" for number in range(draw.randint(2, 12))]
    pairs += [
        (host, switch)
        for host in hosts
        for switch in draw.sample(switches, draw.choice([1, 1, 1, 2]))
    ]
    rates = ["1Mbit", "10Mbit", None]
    links = [
        Link(ends=ends, delay=f"{draw.randint(0, 4)}ms", rate=draw.choice(rates)) for ends in pairs
    ]
    return Topology(switches=switches, links=links, **changes)


def switch_graph(topology: Topology, host: str, source: str) -> nx.DiGraph:
    graph = nx.MultiDiGraph()
    for link in topology.links:
        if all(end in topology.switches or end in (host, source) for end in link.ends):
            for one, other in (link.ends, link.ends[::-1]):
                rate = link.rate.bps if link.rate else 1 << 40
                graph.add_edge(
                    one,
                    other,
                    delay=link.delay.ns * 1000 + 1,
                    hops=10**12 + link.delay.ns,
                    rate=rate,
                )
    return graph


def total(graph: nx.MultiDiGraph, path: list[str], weight: str) -> int:
    return sum(
        min(edge[weight] for edge in graph[one][other].values()) for one, other in pairwise(path)
    )


@pytest.mark.parametrize("each_host_max", [0, 64])
@pytest.mark.parametrize(("routing", "weight"), [("least_delay", "delay"), ("fewest_hops", "hops")])
def test_every_packet_takes_the_cheapest_way(
    monkeypatch: pytest.MonkeyPatch, routing: str, weight: str, each_host_max: int
) -> None:
    monkeypatch.setattr(route_tables, "EACH_HOST_MAX", each_host_max)
    for seed in range(12):
        net = Net(random_network(seed, routing=routing))
        for source, host in product(net.topology.host_names(), repeat=2):
            if source != host:
                graph = switch_graph(net.topology, host, source)
                assert total(graph, net.path(source, host), weight) == nx.dijkstra_path_length(
                    graph, source, host, weight=weight
                ), seed


@pytest.mark.parametrize("each_host_max", [0, 64])
def test_widest_ways_are_as_wide_as_can_be(
    monkeypatch: pytest.MonkeyPatch, each_host_max: int
) -> None:
    monkeypatch.setattr(route_tables, "EACH_HOST_MAX", each_host_max)
    for seed in range(12):
        net = Net(random_network(seed, routing="widest"))
        for source, host in product(net.topology.host_names(), repeat=2):
            if source != host:
                graph = switch_graph(net.topology, host, source)
                width = min(
                    max(edge["rate"] for edge in graph[one][other].values())
                    for one, other in pairwise(net.path(source, host))
                )
                wider = nx.DiGraph(
                    (one, other) for one, other, rate in graph.edges(data="rate") if rate > width
                )
                assert not (
                    source in wider and host in wider and nx.has_path(wider, source, host)
                ), seed


@pytest.mark.parametrize("each_host_max", [0, 64])
@pytest.mark.parametrize("routing", ["least_delay", "widest", "multipath"])
def test_without_some_links_packets_arrive_or_are_lost_at_a_cut_and_never_go_in_circles(
    monkeypatch: pytest.MonkeyPatch, routing: str, each_host_max: int
) -> None:
    monkeypatch.setattr(route_tables, "EACH_HOST_MAX", each_host_max)
    lost = 0
    for seed in range(25):
        topology = random_network(seed, routing=routing)
        failed = random.Random(seed).sample(range(len(topology.links)), min(3, len(topology.links)))
        net = Net(topology, *failed)
        for source, host in product(topology.host_names(), repeat=2):
            if source != host:
                whole = nx.Graph(
                    link.ends for at, link in enumerate(topology.links) if at not in failed
                )
                passable = whole.subgraph({*topology.switches, source, host})
                reachable = {source, host} <= set(passable) and nx.has_path(passable, source, host)
                path = net.path(source, host)
                assert path[-1] == (host if reachable else "cut"), (seed, source, host, path)
                lost += path[-1] == "cut"
    assert lost > 20


def diamond(**changes: Any) -> Topology:
    """From a to b by s1, s2 or s3, and s4; all links are equal."""
    middle = ("s1", "s2", "s3")
    ends = [
        ("a", "s0"),
        *(("s0", name) for name in middle),
        *((name, "s4") for name in middle),
        ("s4", "b"),
    ]
    return Topology(
        switches=["s0", *middle, "s4"],
        links=[Link(ends=pair, delay="1ms") for pair in ends],
        **changes,
    )


def test_multipath_uses_all_ways_that_cost_the_same() -> None:
    assert [hop.near for hop in Routing(diamond(routing="multipath")).hops("s0", "b")] == [
        "s1",
        "s2",
        "s3",
    ]
    assert [hop.near for hop in Routing(diamond()).hops("s0", "b")] == ["s1"]


def test_of_several_links_between_two_nodes_the_best_is_used_or_all_that_are_as_good() -> None:
    links = [Link(ends=("a", "b"), delay=delay) for delay in ("2ms", "1ms", "1ms")]

    assert Routing(Topology(links=links)).hops("a", "b") == (Hop("b", 1),)
    assert Routing(Topology(links=links, routing="multipath")).hops("a", "b") == (
        Hop("b", 1),
        Hop("b", 2),
    )
    assert Routing(Topology(links=links), frozenset({1, 2})).hops("a", "b") == (Hop("b", 0),)


def test_a_way_by_hand_is_taken_and_the_others_stay() -> None:
    net = Net(diamond(routes=[["a", "s0", "s3", "s4", "b"]]))

    assert net.path("a", "b") == ["a", "s0", "s3", "s4", "b"]
    assert net.path("b", "a") == ["b", "s4", "s1", "s0", "a"]


def test_a_way_by_hand_is_left_while_one_of_its_links_is_cut() -> None:
    cut = next(at for at, link in enumerate(diamond().links) if link.ends == ("s0", "s3"))

    assert Net(diamond(routes=[["a", "s0", "s3", "s4", "b"]]), cut).path("a", "b") == [
        "a",
        "s0",
        "s1",
        "s4",
        "b",
    ]


def test_by_hand_there_are_no_other_ways() -> None:
    there = ["a", "s0", "s3", "s4", "b"]

    assert Routing(diamond(routing="by_hand", routes=[there])).unreachable(["a", "b"]) == [
        ("b", "a")
    ]
    assert (
        Routing(diamond(routing="by_hand", routes=[there, there[::-1]])).unreachable(["a", "b"])
        == []
    )


def test_a_host_that_is_cut_off_one_of_its_two_switches_uses_the_other() -> None:
    links = [Link(ends=ends) for ends in [("a", "s1"), ("a", "s2"), ("s1", "s2"), ("s1", "b")]]
    topology = Topology(switches=["s1", "s2"], links=links)

    assert Net(topology).path("b", "a") == ["b", "s1", "a"]
    assert Net(topology, 0).path("b", "a") == ["b", "s1", "s2", "a"]
    assert Net(topology, 0).path("a", "b") == ["a", "s2", "s1", "b"]


def test_a_summary_holds_all_entries_and_nobody_else() -> None:
    left, right = (Hop("s1", 0),), (Hop("s2", 1),)
    everybody = [*range(8), 12, 20]

    assert list(summary([(at, left) for at in range(8)], everybody)) == [((0, 8), left)]
    assert list(summary([(0, left), (1, left), (2, right), (12, left)], everybody)) == [
        ((0, 2), left),
        ((2, 1), right),
        ((12, 1), left),
    ]
    assert list(summary([(2, left), (12, left)], everybody)) == [((2, 1), left), ((12, 1), left)]


def test_many_hosts_share_routes() -> None:
    links = [Link(ends=(f"s{at}", f"s{at + 1}")) for at in range(29)] + [
        Link(ends=(f"h{at}", f"s{at // 10}")) for at in range(300)
    ]
    net = Net(Topology(switches=[f"s{at}" for at in range(30)], links=links))

    assert max(len(routes) for routes in net.tables.values()) < 40
    assert net.path("h3", "h296") == ["h3", *(f"s{at}" for at in range(30)), "h296"]
