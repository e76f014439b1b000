"""Networks by a few numbers: what they consist of, and which numbers are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from streambed import Cities, FatTree, Line, Mesh, Random, Ring, Star, Topology, Tree, generated
from streambed.declare import reading
from streambed.declare.earth import distance_km
from streambed.declare.generators import tree
from streambed.declare.generators.generator import numbered_names
from streambed.errors import DeclarationError
from streambed.kinds.direction import Direction
from streambed.planner.layout import layout
from streambed.planner.routing import Routing
from streambed.units import Bandwidth, Duration
from tests.support.declare.samples import write

TOWNS = {
    "berlin": (52.52, 13.40),
    "paris": (48.86, 2.35),
    "rome": (41.90, 12.50),
    "madrid": (40.42, -3.70),
}


def ends(topology: Topology) -> list[str]:
    return ["-".join(link.ends) for link in topology.links]


def test_a_star_has_its_hosts_on_one_switch() -> None:
    topology = generated(Star(hosts=3, link=Direction(delay="2ms")))

    assert (topology.switches, topology.hosts, ends(topology)) == (
        ("s1",),
        ("h1", "h2", "h3"),
        ["h1-s1", "h2-s1", "h3-s1"],
    )
    assert {link.delay for link in topology.links} == {Duration(2e6)}


def test_a_line_has_hosts_on_its_switches_in_the_same_order() -> None:
    assert ends(generated(Line(switches=2, hosts=2))) == [
        "s1-s2",
        "h1-s1",
        "h2-s1",
        "h3-s2",
        "h4-s2",
    ]


def test_a_ring_closes() -> None:
    assert sorted(ends(generated(Ring(switches=3, hosts=0)))) == ["s1-s2", "s1-s3", "s2-s3"]


def test_a_mesh_links_all() -> None:
    assert len(generated(Mesh(switches=5, hosts=0)).links) == 10


def test_a_tree_has_levels_of_switches_and_hosts_as_leaves() -> None:
    topology = generated(
        Tree(depth=2, fanout=2, link=Direction(rate="1Gbit"), access=Direction(delay="1ms"))
    )

    assert ends(topology) == ["s1-s2", "s1-s3", "s2-h1", "s2-h2", "s3-h3", "s3-h4"]
    assert [(link.rate, link.delay.ms) for link in topology.links[1:3]] == [
        (Bandwidth(1e9), 0),
        (None, 1),
    ]


@pytest.mark.parametrize(("depth", "fanout"), [(1, 1), (1, 5), (3, 1), (2, 3), (4, 2)])
def test_each_switch_of_a_tree_has_as_many_below_it_trunk_first(depth: int, fanout: int) -> None:
    topology = generated(Tree(depth=depth, fanout=fanout))
    names = [*topology.switches, *topology.hosts]

    # The children of node n, counted from 0 level by level, are n * fanout + 1 and on.
    wanted = [f"{names[(at - 1) // fanout]}-{names[at]}" for at in range(1, len(names))]
    assert ends(topology) == wanted


class CountedName(str):
    """A name that counts how often it is hashed or compared."""

    __slots__ = ()
    uses = 0

    def __hash__(self) -> int:
        CountedName.uses += 1
        return super().__hash__()

    def __eq__(self, other: object) -> bool:
        CountedName.uses += 1
        return super().__eq__(other)


def test_the_work_for_a_tree_grows_as_its_nodes_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        tree,
        "numbered_names",
        lambda prefix, count: tuple(map(CountedName, numbered_names(prefix, count))),
    )
    monkeypatch.setattr(CountedName, "uses", 0)

    made = Tree(depth=7, fanout=2).make(Path())

    nodes = len(made.switches) + len(made.hosts)
    assert nodes == 255
    assert CountedName.uses <= 10 * nodes


def test_a_deep_tree_is_made() -> None:
    made = Tree(depth=13, fanout=2).make(Path())

    assert (len(made.switches), len(made.hosts), len(made.links)) == (8191, 8192, 16382)


def test_a_fat_tree_has_as_many_ways_between_pods_as_core_switches() -> None:
    topology = generated(FatTree(k=4))
    degrees = {
        name: sum(name in link.ends for link in topology.links) for name in topology.switches
    }

    assert (len(topology.switches), len(topology.hosts), len(topology.links)) == (20, 16, 48)
    assert set(degrees.values()) == {4}
    routing = Routing(
        Topology(
            switches=topology.switches,
            hosts=topology.hosts,
            links=topology.links,
            routing="multipath",
        )
    )
    assert [hop.near for hop in routing.hops("pod1-edge1", "h16")] == [
        "pod1-aggregation1",
        "pod1-aggregation2",
    ]
    assert [hop.near for hop in routing.hops("pod1-aggregation2", "h16")] == ["core3", "core4"]


@pytest.mark.parametrize("numbers", [{"degree": 3}, {"probability": "5%"}, {"degree": 1.95}])
def test_a_random_network_is_connected_and_the_same_for_the_same_seed(
    numbers: dict[str, Any],
) -> None:
    first, again, other = (
        generated(Random(switches=40, seed=seed, **numbers)) for seed in (7, 7, 8)
    )

    assert first == again != other
    assert first.problems() == other.problems() == []


def test_a_random_network_has_the_degree_that_was_asked_for() -> None:
    assert len(generated(Random(switches=20, hosts=0, degree=3)).links) == 30


def test_cities_are_as_far_apart_as_on_earth_and_light_takes_its_time() -> None:
    topology = generated(
        Cities(
            cities=TOWNS,
            pairs=[("berlin", "paris"), ("paris", "rome"), ("rome", "madrid")],
            link=Direction(rate="1Gbit"),
        )
    )

    assert round(distance_km(TOWNS["berlin"], TOWNS["paris"])) == 877
    assert topology.links[0].ends == ("berlin-switch", "paris-switch")
    assert (round(topology.links[0].delay.ms, 1), topology.links[0].rate) == (4.4, Bandwidth(1e9))
    assert topology.links[3].ends == ("berlin", "berlin-switch")
    assert distance_km((0.0, 0.0), (0.0, 180.0)) == pytest.approx(20015, abs=1)


def test_cables_may_be_longer_than_the_great_circle_and_very_short_ones_have_no_delay() -> None:
    near = {"one": (50.0, 8.0), "two": (50.1, 8.0)}

    assert generated(Cities(cities=near)).links[0].delay == Duration(0)
    assert generated(Cities(cities=near, shortest="0s")).links[0].delay == Duration(56_000)
    assert generated(Cities(cities=near, detour=2)).links[0].delay == Duration(111_000)


def test_cities_are_linked_with_their_nearest_or_all_with_all() -> None:
    assert (
        len([link for link in generated(Cities(cities=TOWNS)).links if "switch" in link.ends[0]])
        == 6
    )
    nearest = generated(Cities(cities=TOWNS, nearest=2))
    assert [link.ends[0].removesuffix("-switch") for link in nearest.links[:3]] == [
        "berlin",
        "berlin",
        "paris",
    ]


def test_cities_may_be_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "towns.csv").write_text(
        "name,latitude,longitude\nberlin, 52.52, 13.40\nparis,48.86,2.35\n"
    )

    assert generated(Cities(file="towns.csv"), tmp_path) == generated(
        Cities(cities={name: TOWNS[name] for name in ("berlin", "paris")})
    )


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("berlin,52.5,13.4\n", 1, "its first line should be name,latitude,longitude"),
        (
            "name,latitude,longitude\nberlin,52.5\n",
            2,
            "a city has three entries, and this line has 2",
        ),
        ("name,latitude,longitude\n\nnew york,1,2\n", 3, "'new york' cannot be the name of a host"),
        ("name,latitude,longitude\na,1,east\n", 2, "'1, east' is not a latitude and a longitude"),
        ("name,latitude,longitude\na,100,2\n", 2, "100, 2 is not on Earth"),
        ("name,latitude,longitude\na,1,2\na,1,2\n", 3, "'a' is given twice"),
    ],
)
def test_a_wrong_line_of_a_file_of_cities_is_named(
    tmp_path: Path, text: str, line: int, says: str
) -> None:
    (tmp_path / "towns.csv").write_text(text)

    with pytest.raises(DeclarationError) as refused:
        generated(Cities(cities=TOWNS, file="towns.csv"), tmp_path)

    assert str(refused.value).startswith(f"{tmp_path}/towns.csv:{line}:1: generate.file: {says}")


def test_a_network_with_places_is_drawn_as_a_map() -> None:
    places = layout(generated(Cities(cities=TOWNS)))

    assert places["berlin-switch"][1] > places["rome-switch"][1] > places["madrid-switch"][1]
    assert places["madrid-switch"][0] < places["paris-switch"][0] < places["rome-switch"][0]
    assert len(set(places.values())) == len(places)


GENERATE = """topology:
  generate: %s
  switches: []
  links:
    - {ends: [edge, s1], delay: 20ms, rate: 10Mbit, loss: 1%%}
    - {ends: [cluster, s1], delay: 2ms}
    - {ends: [broker1, s1]}
"""


def with_generator(folder: Path, generator: str, fault: str = "[edge, s1]") -> Path:
    """The good experiment, its core replaced by a generated network."""
    text = write(folder).read_text()
    start, end = text.index("topology:"), text.index("components:")
    return write(
        folder, (text[:start] + GENERATE % generator + text[end:]).replace("[edge, core]", fault)
    )


def test_what_is_given_by_hand_is_added_to_what_is_generated(tmp_path: Path) -> None:
    topology = reading.read(
        with_generator(tmp_path, "{kind: ring, switches: 3}", "[s1, s2]")
    ).experiment.topology

    assert topology.host_names() == ["h1", "h2", "h3", "edge", "cluster", "broker1"]
    assert (topology.switches, len(topology.links), topology.generate) == (
        ("s1", "s2", "s3"),
        9,
        None,
    )


def test_a_generated_network_is_written_out_by_convert(tmp_path: Path) -> None:
    path = with_generator(tmp_path, "{kind: star, hosts: 2, link: {delay: 3ms}}")

    converted = reading.convert(path, base=tmp_path)

    assert "    - {ends: [h2, s1], delay: 3ms}\n" in converted.text
    (tmp_path / "same.yaml").write_text(converted.text)
    assert (
        reading.read(tmp_path / "same.yaml").experiment
        == converted.experiment
        == reading.read(path).experiment
    )


@pytest.mark.parametrize(
    ("generator", "says"),
    [
        (
            "{kind: rign, switches: 3}",
            "topology.generate.kind: there is no kind 'rign' of generators. Did you mean 'ring'?",
        ),
        (
            "{switches: 3}",
            "topology.generate.kind: is missing: each of the generators needs a 'kind'. Known: "
            "star, line,",
        ),
        (
            "{kind: ring, switch: 3}",
            "topology.generate.switch: unknown key 'switch'. Did you mean 'switches'?",
        ),
        ("{kind: ring, switches: 2}", "topology.generate.switches: 2 is too small: at least 3"),
        (
            "{kind: ring, switches: many}",
            "topology.generate.switches: 'many' is not a whole number",
        ),
        (
            "{kind: ring, switches: 3, link: {loss: 120%}}",
            "topology.generate.link.loss: 120% is more than 100 %",
        ),
        ("{kind: fat_tree, k: 5}", "topology.generate.k: 5 is odd: half of the ports go up"),
        (
            "{kind: tree, depth: 9, fanout: 9}",
            "topology.generate: this makes 435848050 nodes: at most 60000 have an address",
        ),
        (
            "{kind: mesh, switches: 900}",
            "topology.generate: this makes 405450 links: at most 100000 are made",
        ),
        (
            "{kind: random, switches: 9}",
            "topology.generate: give either a degree, such as 3, or a probability",
        ),
        (
            "{kind: random, switches: 9, degree: 1}",
            "topology.generate.degree: 1 is not allowed: 9 switches are all connected from "
            "1.78 on, and "
            "8",
        ),
        ("{kind: random, switches: 9, degree: 9}", "topology.generate.degree: 9 is not allowed"),
        (
            "{kind: random, switches: 9, probability: 200%}",
            "topology.generate.probability: 200% is more than 100 %",
        ),
        (
            "{kind: cities, cities: {a: [1, 2]}}",
            "topology.generate.cities: there are 1 cities: give two at least",
        ),
        (
            "{kind: cities, cities: {a: [1, 2], b: [95, 2]}}",
            "topology.generate.cities.b: 95, 2 is not on Earth",
        ),
        (
            "{kind: cities, cities: {a: [1, 2], b: [5, 2]}, nearest: 2}",
            "topology.generate.nearest: 2 is not allowed: each of 2 cities",
        ),
        (
            "{kind: cities, cities: {aa: [1, 2], b: [5, 2]}, pairs: [[ab, b]]}",
            "topology.generate.pairs.0.0: there is no city 'ab'.",
        ),
        (
            "{kind: cities, cities: {a: [1, 2], b: [5, 2]}, link: {delay: 1ms}}",
            "topology.generate.link.delay: delays follow from distances",
        ),
        (
            "{kind: cities, cities: {a: [1, 2], b: [1, 3], c: [9, 2], d: [9, 3]}, nearest: 1}",
            "topology.generate.nearest: the network is in parts: no link leads from 'a' to c, d; "
            "give a larger number, or pairs",
        ),
        (
            "{kind: cities, file: towns.csv}",
            "topology.generate.file: there is no file 'towns.csv' beside the declaration.",
        ),
        (
            "{kind: graphml, file: zoo.graphml}",
            "topology.generate.file: there is no file 'zoo.graphml' beside the declaration.",
        ),
    ],
)
def test_impossible_numbers_are_refused_with_their_line(
    tmp_path: Path, generator: str, says: str
) -> None:
    path = with_generator(tmp_path, generator)

    with pytest.raises(DeclarationError) as refused:
        reading.read(path)

    first = str(refused.value).splitlines()[0].removeprefix(f"{tmp_path}/")
    assert first.startswith("a.yaml:5:")
    assert first.partition(": ")[2].startswith(says)


def test_a_generator_may_be_changed_for_one_run(tmp_path: Path) -> None:
    path = with_generator(tmp_path, "{kind: ring, switches: 3}", "[s1, s2]")

    assert (
        len(reading.read(path, ["topology.generate.switches=5"]).experiment.topology.switches) == 5
    )
