"""What a network may be, the ways of packets through it, and where it is drawn."""

from __future__ import annotations

import pytest

from streambed.declare import topology as topologies
from streambed.declare.link import Direction, Link
from streambed.declare.topology import Topology
from streambed.planner.layout import layout
from streambed.planner.routing import Routing
from streambed.units import Bandwidth, Duration


def star(*hosts: str) -> Topology:
    return Topology(switches=["core"], links=[Link(ends=(host, "core")) for host in hosts])


def test_hosts_are_all_ends_that_are_no_switches_in_order_of_mention() -> None:
    topology = Topology(
        switches=["core"],
        hosts=["late"],
        links=[Link(ends=("core", "b")), Link(ends=("a", "core")), Link(ends=("late", "core"))],
    )

    assert topology.host_names() == ["late", "b", "a"]


def test_the_way_back_differs_only_in_what_it_gives() -> None:
    link = Link(ends=("a", "b"), delay="20ms", rate="1Mbit", back=Direction(delay="5ms"))

    assert (link.direction("a").delay, link.direction("b").delay) == (Duration(20e6), Duration(5e6))
    assert link.direction("b").rate == Bandwidth(1e6)


def ways(*routes: tuple[str, ...]) -> Topology:
    """A ring of three switches, a on the first and the second, b on the first and the third, with
    ways by hand.
    """
    pairs = [("a", "s1"), ("s1", "b"), ("a", "s2"), ("s2", "s3"), ("s3", "b"), ("s1", "s3")]
    return Topology(
        switches=["s1", "s2", "s3"], links=[Link(ends=ends) for ends in pairs], routes=routes
    )


@pytest.mark.parametrize(
    ("topology", "key", "says"),
    [
        (Topology(links=[Link(ends=("a", "a"))]), "links.0.ends", "'a' is linked to itself"),
        (
            Topology(links=[Link(ends=("a", "b"), loss="101%")]),
            "links.0.loss",
            "101% is more than 100 %",
        ),
        (
            Topology(links=[Link(ends=("a", "b"), jitter="2ms", delay="1ms")]),
            "links.0.jitter",
            "a jitter of 2ms is more than the delay of 1ms",
        ),
        (
            Topology(
                links=[
                    Link(ends=("a", "b"), jitter="2ms", delay="2ms", back=Direction(delay="1ms"))
                ]
            ),
            "links.0.back.delay",
            "a jitter of 2ms is more",
        ),
        (
            Topology(links=[Link(ends=("a", "b"), rate="0bit")]),
            "links.0.rate",
            "a link that carries nothing is no link",
        ),
        (
            Topology(links=[Link(ends=("a", "b"), name="x"), Link(ends=("b", "c"), name="x")]),
            "links.1.name",
            "link 0 is called 'x' already",
        ),
        (
            Topology(links=[Link(ends=("a", "b")), Link(ends=("A", "b"))]),
            "links.1.ends.0",
            "'A' and 'a' differ only in case",
        ),
        (
            Topology(hosts=["lonely"], links=[Link(ends=("a", "b"))]),
            "hosts.0",
            "no link ends at 'lonely'. Known: a, b.",
        ),
        (
            Topology(switches=["cor"], links=[Link(ends=("a", "core"))]),
            "switches.0",
            "no link ends at 'cor'. Did you mean 'core'?",
        ),
        (
            Topology(switches=["b"], hosts=["b"], links=[Link(ends=("a", "b"))]),
            "switches.0",
            "'b' is named twice",
        ),
        (
            Topology(links=[Link(ends=("a", "b"), ports=("a", "b/1"))]),
            "links.0.ports.1",
            "'b/1' cannot be the name of an interface: begin",
        ),
        (
            Topology(links=[Link(ends=("a", "b"), ports=("lo", "b"))]),
            "links.0.ports.0",
            "'lo' cannot be the name of an interface: begin",
        ),
        (
            Topology(
                links=[
                    Link(ends=("a", "b"), ports=("x", "x")),
                    Link(ends=("c", "a"), ports=("x", "x")),
                ]
            ),
            "links.1.ports.1",
            "'a' has an interface x already, at link 0",
        ),
        (
            Topology(links=[Link(ends=("a", "b"))], addresses={"a": "10.0.0"}),
            "addresses.a",
            "'10.0.0' is not an IPv4 address",
        ),
        (
            Topology(links=[Link(ends=("a", "b"))], addresses={"a": "10.255.3.1"}),
            "addresses.a",
            "10.255.3.1 is among the addresses of switches",
        ),
        (
            Topology(links=[Link(ends=("a", "b"))], addresses={"a": "127.0.0.1"}),
            "addresses.a",
            "127.0.0.1 cannot be the address of a host",
        ),
        (
            Topology(links=[Link(ends=("a", "b"))], addresses={"a": "10.0.0.2", "b": "10.0.0.2"}),
            "addresses.b",
            "'a' has the address 10.0.0.2 already",
        ),
        (
            Topology(links=[Link(ends=("aa", "b"))], addresses={"ab": "10.0.0.2"}),
            "addresses.ab",
            "there is no host 'ab'. ",
        ),
        (
            Topology(switches=["b"], links=[Link(ends=("a", "b"))], addresses={"b": "10.0.0.2"}),
            "addresses.b",
            "'b' is a switch: only hosts are given addresses",
        ),
        (
            Topology(links=[Link(ends=("edge", "b"))], cpu={"egde": "10%"}),
            "cpu.egde",
            "there is no host 'egde'. Did you mean 'edge'?",
        ),
        (
            Topology(switches=["b"], links=[Link(ends=("a", "b"))], cpu={"b": "10%"}),
            "cpu.b",
            "'b' is a switch: it runs nothing",
        ),
        (Topology(hosts=["a"], cpu={"a": "0%"}), "cpu.a", "0% is not allowed: give more than 0 %"),
        (
            Topology(hosts=["a"], cpu={"a": "101%"}),
            "cpu.a",
            "101% is not allowed: give more than 0 % and at most 100 %",
        ),
        (
            Topology(links=[Link(ends=("a", "b"))], routing="by_hand"),
            "routing",
            "`by_hand` needs paths: list them under `routes`",
        ),
        (
            ways(("a", "s1", "x", "b")),
            "routes.0.2",
            "there is no node 'x'. Known: a, b, s1, s2, s3.",
        ),
        (ways(("a", "s1", "s3")), "routes.0.2", "'s3' is a switch: a way ends at a host"),
        (ways(("s1", "a", "s2")), "routes.0.2", "'s2' is a switch"),
        (
            ways(("s1", "a", "s2", "s3", "b")),
            "routes.0.1",
            "'a' is a host: packets pass through switches only",
        ),
        (ways(("a", "s3", "b")), "routes.0.1", "no link joins 'a' and 's3'"),
        (
            ways(("s2", "s3", "s2", "s3", "b")),
            "routes.0.2",
            "the way goes in a circle: 's2' is on it twice",
        ),
        (
            ways(("s2", "s3", "b"), ("s3", "s2", "a"), ("s3", "s1", "b")),
            "routes.2.0",
            "'s3' sends what is for 'b' to 'b' by route 0, but",
        ),
        (
            Topology(links=[Link(ends=("a", "localhost"))]),
            "links.0.ends.1",
            "a node cannot be called 'localhost'",
        ),
    ],
)
def test_an_impossible_network_is_refused(topology: Topology, key: str, says: str) -> None:
    [problem] = topology.problems()

    assert problem.key == key
    assert problem.says.startswith(says)


def test_a_single_host_needs_no_link() -> None:
    assert Topology(hosts=["only"]).problems() == []


def test_more_nodes_than_addresses_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topologies, "NODES_MAX", 100)
    just_enough, too_many = (
        star(*(f"h{number}" for number in range(hosts))) for hosts in (99, 100)
    )

    assert just_enough.problems() == []
    assert [problem.key for problem in too_many.problems()] == ["links"]


def ring(slow: str = "0s") -> Topology:
    """Two ways from a to b: by s1 or by s2 and s3."""
    pairs = [("a", "s1"), ("s1", "b"), ("a", "s2"), ("s2", "s3"), ("s3", "b")]
    return Topology(
        switches=["s1", "s2", "s3"],
        links=[Link(ends=ends, delay=slow if ends == ("s1", "b") else "0s") for ends in pairs],
    )


def next_hop(topology: Topology, source: str = "a", target: str = "b") -> str:
    return next((hop.near for hop in Routing(topology).hops(source, target)), "")


def test_the_least_delay_wins_even_over_more_hops() -> None:
    assert next_hop(ring(slow="5ms")) == "s2"


def test_of_equal_delays_the_fewest_hops_win() -> None:
    assert next_hop(ring()) == "s1"


def test_of_equal_ways_the_first_name_wins() -> None:
    pairs = [("a", "s2"), ("s2", "b"), ("a", "s1"), ("s1", "b")]

    assert (
        next_hop(Topology(switches=["s1", "s2"], links=[Link(ends=ends) for ends in pairs])) == "s1"
    )


def test_the_way_back_may_be_another() -> None:
    links = [
        Link(ends=("a", "s1")),
        Link(ends=("s1", "b"), delay="9ms", back=Direction(delay="1ms")),
        Link(ends=("a", "s2"), delay="4ms"),
        Link(ends=("s2", "b")),
    ]
    topology = Topology(switches=["s1", "s2"], links=links)

    assert (next_hop(topology), next_hop(topology, "b", "a")) == ("s2", "s1")


def test_hosts_do_not_forward() -> None:
    topology = Topology(links=[Link(ends=("a", "b")), Link(ends=("b", "c"))])

    assert (next_hop(topology), next_hop(topology, "a", "c")) == ("b", "")
    assert Routing(topology).unreachable(["a", "b", "c"]) == [("a", "c")]


def test_hosts_of_one_star_reach_each_other_through_it() -> None:
    assert next_hop(star("a", "b"), "core", "b") == "b"
    assert Routing(star("a", "b")).unreachable(["a", "b"]) == []


def test_a_star_is_drawn_with_its_switch_in_the_middle() -> None:
    places = layout(star("a", "b", "c", "d"))

    assert places["core"] == (0.5, 0.5)
    assert places["a"] == (0.05, 0.5)


@pytest.mark.parametrize(
    "topology",
    [
        Topology(hosts=["only"]),
        Topology(links=[Link(ends=("a", "b"))]),
        ring(),
        star(*(f"h{at}" for at in range(500))),
    ],
)
def test_every_drawing_is_inside_the_unit_square_and_always_the_same(topology: Topology) -> None:
    places = layout(topology)

    assert set(places) == set(topology.nodes())
    assert all(0 <= x <= 1 and 0 <= y <= 1 for x, y in places.values())
    assert layout(topology) == places


def test_each_of_several_links_between_two_nodes_has_its_own_name() -> None:
    topology = Topology(
        links=[
            Link(ends=("a", "b")),
            Link(ends=("b", "a"), name="north"),
            Link(ends=("b", "a")),
            Link(ends=("b", "c")),
        ]
    )

    assert topology.problems() == []
    assert list(topology.ends_by_name()) == ["a – b", "north", "b – a (3)", "b – c"]
    assert [name for name, link in topology.ends_by_name().items() if link.named] == ["north"]
