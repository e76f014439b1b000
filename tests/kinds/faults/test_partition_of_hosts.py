import pytest

from streambed import Kafka, Partition
from streambed.errors import WorldError
from streambed.plan import Machine
from tests.support.fakes import FakeWorld

COMPONENTS = {"kafka": Kafka(name="kafka", nodes=("b1", "b2", "b3"), topics={"lines": {}})}


def problems(*sides: tuple[str, ...]) -> list[tuple[str, str]]:
    fault = Partition(at="1s", lasts="2s", sides=sides)
    return [
        (problem.key, problem.says)
        for problem in fault.problems(["b1", "b2", "b3", "edge"], [], COMPONENTS)
    ]


def test_sides_are_separated_until_healed():
    world = FakeWorld()

    injected = Partition(at="1s", lasts="2s", sides=(("b1",), ("b2", "b3"))).inject(world)

    assert world.deaf == [{"b1": ["b2", "b3"], "b2": ["b1"], "b3": ["b1"]}]
    assert injected.target == "b1 | b2, b3"
    assert ("b1", "b2") in injected.pairs and ("b2", "b3") not in injected.pairs
    injected.heal()
    assert world.deaf == []


def test_a_deaf_host_hears_nothing_but_is_heard():
    world = FakeWorld()

    injected = Partition(at="1s", lasts="2s", deaf={"b1": ["b2", "b3"]}).inject(world)

    assert world.deaf == [{"b1": ["b2", "b3"]}]
    assert injected.target == "b1 deaf to b2, b3"
    assert injected.pairs == (("b2", "b1"), ("b3", "b1"))


def test_in_a_ring_each_host_hears_its_two_neighbours_only():
    world = FakeWorld()

    Partition(at="1s", lasts="2s", ring=("a", "b", "c", "d", "e")).inject(world)

    (deaf,) = world.deaf
    assert deaf["a"] == ["c", "d"] and deaf["c"] == ["a", "e"]
    assert all(receiver in deaf[sender] for receiver in deaf for sender in deaf[receiver])


def test_a_partition_has_one_form():
    both = Partition(at="1s", lasts="2s", ring=("b1", "b2"), deaf={"b1": ["b2"]})

    assert [problem.says for problem in both.problems(["b1", "b2"], {}, COMPONENTS)] == [
        "give one of `sides`, `deaf` and `ring`"
    ]
    assert problems() == [("sides", "give one of `sides`, `deaf` and `ring`")]


def test_a_small_ring_separates_nobody():
    ring = Partition(at="1s", lasts="2s", ring=("b1", "b2", "b3"))

    assert [problem.says for problem in ring.problems(["b1", "b2", "b3"], {}, COMPONENTS)] == [
        "3 hosts are all neighbours: give 4 or more"
    ]


def test_a_role_on_a_side_is_the_host_of_its_broker():
    world = FakeWorld()
    world.roles["controller"] = "kafka/b2"

    injected = Partition(at="1s", lasts="2s", sides=(("controller",), ("b1", "b3"))).inject(world)

    assert world.deaf == [{"b2": ["b1", "b3"], "b1": ["b2"], "b3": ["b2"]}]
    assert injected.target == "b2 (controller) | b1, b3"


def test_a_role_that_moved_to_the_other_side_cannot_be_separated_from_it():
    world = FakeWorld()
    world.roles["controller"] = "kafka/b1"

    with pytest.raises(WorldError, match="b1 would be on two sides"):
        Partition(at="1s", lasts="2s", sides=(("controller",), ("b1", "b3"))).inject(world)


def test_a_host_on_two_sides_is_a_problem():
    assert problems(("b1",), ("b2", "b1")) == [("sides.1.1", "'b1' is on a side already")]


def test_only_hosts_are_on_sides():
    assert problems(("b1",), ("core",)) == [
        ("sides.1.0", "there is no host 'core'. Known: b1, b2, b3, edge.")
    ]


def test_a_partition_is_refused_where_the_kernel_has_no_packet_rules():
    fault = Partition(at="1s", lasts="2s", sides=(("b1",), ("b2",)))

    assert "nf_tables" in fault.lacks(Machine(filtering=False))
    assert fault.lacks(Machine()) == ""
