"""Networks from GraphML files with coordinates."""

from __future__ import annotations

from pathlib import Path

import pytest

from streambed import GraphmlNetwork, generated
from streambed.declare import reading
from streambed.declare.expansion import expand
from streambed.declare.generators.link_rates import rate_of
from streambed.declare.link import Link
from streambed.declare.topology import Topology
from streambed.errors import DeclarationError
from streambed.units import Bandwidth

HEAD = """<graphml>
<key attr.name="Latitude" for="node" id="d0"/><key attr.name="Longitude" for="node" id="d1"/>\
<key attr.name="label" for="node" id="d2"/>
<key attr.name="LinkSpeedRaw" for="edge" id="d3"/><key attr.name="LinkSpeed" for="edge" id="d4"/>
<key attr.name="LinkSpeedUnits" for="edge" id="d5"/><key attr.name="LinkLabel" for="edge" id="d8"/>\
<key attr.name="LinkType" for="edge" id="d9"/>
<key attr.name="Latitud" for="node" id="d6"/><key attr.name="colour" for="node" id="d7"/><graph>
"""
EXAMPLE = Path(__file__).parents[2] / "examples" / "reroute"


def node(
    number: int, label: str, north: float | str = 50, east: float | str = 8, more: str = ""
) -> str:
    place = f'<data key="d0">{north}</data><data key="d1">{east}</data>' if north != "" else ""
    return f'<node id="{number}">{place}<data key="d2">{label}</data>{more}</node>\n'


def edge(one: int, other: int, more: str = "") -> str:
    return f'<edge source="{one}" target="{other}">{more}</edge>\n'


def zoo(folder: Path, *parts: str) -> Path:
    (folder / "zoo.graphml").write_text(HEAD + "".join(parts) + "</graph></graphml>")
    return folder


def wrong(folder: Path) -> str:
    with pytest.raises(DeclarationError) as refused:
        generated(GraphmlNetwork(file="zoo.graphml"), folder)
    return str(refused.value).removeprefix(f"{folder}/")


def test_every_node_is_a_switch_with_a_host_and_delays_follow_from_distances(
    tmp_path: Path,
) -> None:
    topology = generated(
        GraphmlNetwork(file="zoo.graphml"),
        zoo(tmp_path, node(0, "Köln", 50.94, 6.96), node(1, "Wien", 48.21, 16.37), edge(0, 1)),
    )

    assert (topology.hosts, topology.switches) == (("Koln", "Wien"), ("Koln-switch", "Wien-switch"))
    assert round(topology.links[0].delay.ms, 2) == 3.72


def test_rates_are_those_of_the_file_or_else_the_given_one(tmp_path: Path) -> None:
    edges = (
        edge(0, 1, '<data key="d3">1e9</data>'),
        edge(0, 1, '<data key="d4">34</data><data key="d5">M</data>'),
        edge(0, 1),
    )
    network = GraphmlNetwork(file="zoo.graphml", link={"rate": "5Mbit"})

    topology = generated(network, zoo(tmp_path, node(0, "a"), node(1, "b", 51), *edges))

    assert [(link.name, link.rate) for link in topology.links[:3]] == [
        ("a-b-1", Bandwidth(1e9)),
        ("a-b-2", Bandwidth(34e6)),
        ("a-b-3", Bandwidth(5e6)),
    ]


def test_what_is_odd_is_noted_with_its_line(tmp_path: Path) -> None:
    odd = '<data key="d7">red</data>'
    nodes = node(0, "Bern", more=odd), node(1, "bern", 51), node(2, "?", 52)
    edges = edge(0, 1), edge(1, 1), edge(1, 2, '<data key="d4">fast</data>'), edge(0, 2)

    expanded = expand(Topology(graphml="zoo.graphml"), zoo(tmp_path, *nodes, *edges))

    assert expanded.topology.hosts == ("Bern", "bern-2", "n-2")
    assert [note.removeprefix(f"{tmp_path}/zoo.graphml") for note in expanded.notes] == [
        ": attributes without a meaning here: node colour (line 6)",
        ":7: another node is called 'bern' already: this one is bern-2 here",
        ":8: the label '?' of node 2 is no name for a host: it is n-2 here",
        ":10: a link from bern-2 to itself is left out",
        ":11: the speed of bern-2 – n-2 is not a number: it has no rate from this file",
    ]


def test_a_node_without_coordinates_is_refused_until_they_are_given(tmp_path: Path) -> None:
    zoo(tmp_path, node(0, "a"), node(1, "b", ""), edge(0, 1))

    assert wrong(tmp_path) == (
        "zoo.graphml:7:1: generate.places: no Latitude and Longitude for b (line 7): give them "
        "under `places`, such as {b: [52.5, 13.4]}, or place these nodes at the mean of their "
        "neighbours with `unplaced: neighbours`, or leave them out with `unplaced: omit`"
    )
    assert (
        generated(GraphmlNetwork(file="zoo.graphml", places={"b": (51.0, 8.0)}), tmp_path)
        .links[0]
        .delay.ms
        > 0.5
    )


def test_all_nodes_without_coordinates_are_named(tmp_path: Path) -> None:
    nodes = [node(number, f"n{number}", "") for number in range(1, 12)]
    edges = [edge(0, number) for number in range(1, 12)]

    says = wrong(zoo(tmp_path, node(0, "a"), *nodes, *edges))

    assert all(f"n{number} (line {6 + number})" in says for number in range(1, 12))


def test_nodes_without_coordinates_can_be_put_between_their_neighbours(tmp_path: Path) -> None:
    # c hangs on b, which lies between a and d.
    nodes = node(0, "a", 0, 10), node(1, "b", ""), node(2, "c", ""), node(3, "d", 0, 20)
    zoo(tmp_path, *nodes, edge(0, 1), edge(1, 3), edge(1, 2))
    topology = Topology(generate=GraphmlNetwork(file="zoo.graphml", unplaced="neighbours"))

    expanded = expand(topology, tmp_path)

    assert expanded.topology.places["b"] == pytest.approx((0, 15))
    assert expanded.topology.places["c"] == pytest.approx((0, 15))
    assert "placed at the mean of their neighbours: b, c" in expanded.notes


def test_nodes_without_coordinates_can_be_left_out(tmp_path: Path) -> None:
    nodes = node(0, "a"), node(1, "b", ""), node(2, "c", 51)
    zoo(tmp_path, *nodes, edge(0, 1), edge(0, 2))
    topology = Topology(generate=GraphmlNetwork(file="zoo.graphml", unplaced="omit"))

    expanded = expand(topology, tmp_path)

    assert expanded.topology.hosts == ("a", "c")
    assert "left out because they have no coordinates: b" in expanded.notes


def test_of_a_network_in_parts_the_largest_can_be_used(tmp_path: Path) -> None:
    nodes = [node(number, label, 50 + number) for number, label in enumerate("abcde")]
    zoo(tmp_path, *nodes, edge(0, 1), edge(2, 3), edge(3, 4))

    apart = expand(Topology(graphml="zoo.graphml"), tmp_path)
    assert [problem.says for problem in apart.problems] == [
        "no path joins these nodes with the largest part: a, b. Leave them out with `generate: "
        "{kind: graphml, file: zoo.graphml, part: largest}`, or add links"
    ]
    network = GraphmlNetwork(file="zoo.graphml", part="largest")
    assert generated(network, tmp_path).hosts == ("c", "d", "e")


def test_links_by_hand_can_join_the_parts(tmp_path: Path) -> None:
    nodes = [node(number, label, 50 + number) for number, label in enumerate("abcd")]
    zoo(tmp_path, *nodes, edge(0, 1), edge(2, 3))
    bridge = Link(ends=("b-switch", "c-switch"))

    assert expand(Topology(graphml="zoo.graphml", links=[bridge]), tmp_path).problems == ()


@pytest.mark.parametrize(
    ("label", "rate"),
    [
        ("OC-192c", "9953280kbit"),
        ("OC3", "155520kbit"),
        ("STM-4", "622080kbit"),
        ("E3", "34368kbit"),
        ("DS-3", "44736kbit"),
        ("10 Gbps", "10Gbit"),
        ("2.5 Gbit/s", "2500Mbit"),
        ("2 x 155 Mbps", "310Mbit"),
        ("10GE", "10Gbit"),
        ("10 GigE", "10Gbit"),
        ("GigE", "1Gbit"),
        ("Fast Ethernet", "100Mbit"),
    ],
)
def test_a_label_can_name_a_rate(label: str, rate: str) -> None:
    assert rate_of(label) == Bandwidth.parse(rate)


@pytest.mark.parametrize("label", ["Lit Fibre", "< 2.5 Gbps", "10-20 Gbps", "0 x E1", "", "E9"])
def test_a_label_without_a_known_rate_is_none(label: str) -> None:
    assert rate_of(label) is None


def test_rates_by_label_are_used_and_all_labels_are_noted(tmp_path: Path) -> None:
    edges = (
        edge(0, 1, '<data key="d8">OC-192c</data><data key="d9">OC-192</data>'),
        edge(1, 2, '<data key="d8">Abilene</data><data key="d9">OC-48</data>'),
        edge(0, 2, '<data key="d8">Lit Fibre</data>'),
    )
    nodes = node(0, "a"), node(1, "b", 51), node(2, "c", 52)

    expanded = expand(Topology(graphml="zoo.graphml"), zoo(tmp_path, *nodes, *edges))

    assert [link.rate for link in expanded.topology.links[:3]] == [
        Bandwidth(9_953_280_000),
        Bandwidth(2_488_320_000),
        None,
    ]
    assert [note.removeprefix(f"{tmp_path}/zoo.graphml") for note in expanded.notes] == [
        ": rates by label: 'OC-192c' is 9953280kbit (1 link), 'OC-48' is 2488320kbit (1 link)",
        ": labels that name no known rate, so no rate is used: 'Lit Fibre' (1 link)",
    ]


@pytest.mark.parametrize(
    ("parts", "says"),
    [
        (
            (node(0, "a", more='<data key="d6">5</data>'),),
            "zoo.graphml:6:84: generate.node: unknown attribute 'Latitud' of a node. Did you",
        ),
        (
            (node(0, "a", 95),),
            "zoo.graphml:6:1: generate.node: Latitude 95, Longitude 8 is not on Earth",
        ),
        (
            (node(0, "a", "north"),),
            "zoo.graphml:6:1: generate.node: Latitude north, Longitude 8 is not on Earth",
        ),
        (
            (node(0, "a"), edge(0, 7)),
            "zoo.graphml:7:1: generate.edge: there is no node '7'. Known: 0.",
        ),
        (
            (node(0, "a"), node(0, "b"), edge(0, 0)),
            "zoo.graphml:7:1: generate.node: there are two nodes with the id '0'",
        ),
        ((node(0, "a"), node(1, "b")), "zoo.graphml:5:1: generate.graph: no edge joins two nodes"),
    ],
)
def test_an_invalid_file_is_refused_with_its_line(
    tmp_path: Path, parts: tuple[str, ...], says: str
) -> None:
    assert wrong(zoo(tmp_path, *parts)).startswith(says)


def test_what_is_not_xml_is_refused_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "zoo.graphml").write_text("<graphml>\n<graph>")

    assert wrong(tmp_path) == "zoo.graphml:2:8: generate.file: this is not XML: no element found"


def test_the_example_is_a_network_of_five_places() -> None:
    topology = reading.read(EXAMPLE / "zoo.yaml").experiment.topology

    assert topology.host_names() == ["Lisboa", "Ponta-Delgada", "Funchal", "Santa-Cruz", "Dakar"]
    assert [link.name for link in topology.links if link.name] == [
        "Lisboa-Funchal-1",
        "Lisboa-Funchal-2",
    ]


def test_a_network_alone_cannot_be_run_and_the_message_says_how_to_use_it() -> None:
    with pytest.raises(
        DeclarationError, match=r"islands\.graphml.*topology: \{graphml: islands\.graphml\}"
    ):
        reading.read(EXAMPLE / "islands.graphml")
