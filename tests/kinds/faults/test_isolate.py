import pytest

from streambed import Isolate, Kafka
from streambed.errors import WorldError
from streambed.kinds.faults.of_links import LinkEnds
from tests.support.fakes import FakeWorld

LINKS = {
    "-".join(ends): LinkEnds(ends=ends)
    for ends in [("b1", "core"), ("b2", "core"), ("b2", "b1"), ("edge", "core")]
}
COMPONENTS = {"kafka": Kafka(name="kafka", nodes=("b1", "b2"), topics={"lines": {}})}


def world_of_links() -> FakeWorld:
    world = FakeWorld()
    for link in LINKS.values():
        world.wire(link.ends)
    return world


def cut_off(world: FakeWorld) -> list[tuple[str, str]]:
    return [wire.ends for wire in world.wires.values() if wire.cut_off]


def test_all_links_of_an_isolated_host_are_cut_both_ways_until_it_is_healed():
    world = world_of_links()

    injected = Isolate(at="1s", lasts="2s", target="b2").inject(world)

    assert cut_off(world) == [("b2", "core"), ("b2", "b1")]
    assert world.wire(("b2", "core")).cut_off == {"b2", "core"}
    injected.heal()
    assert cut_off(world) == []


def test_a_role_is_isolated_with_the_host_of_its_broker():
    world = world_of_links()
    world.roles["leader of lines/0"] = "kafka/b1"

    injected = Isolate(at="1s", lasts="2s", target="leader of lines/0").inject(world)

    assert injected.target == "b1 (leader of lines/0)"
    assert cut_off(world) == [("b1", "core"), ("b2", "b1")]


def test_if_one_link_cannot_be_cut_the_others_are_mended():
    world = world_of_links()

    def refuse(sources: tuple[str, ...]) -> None:
        raise WorldError("the plan did not make it emulated")

    world.wire(("b2", "b1")).cut = refuse
    with pytest.raises(WorldError):
        Isolate(at="1s", lasts="2s", target="b2").inject(world)

    assert cut_off(world) == []


def test_links_of_all_who_may_hold_the_role_must_be_such_that_they_can_be_cut():
    by_role = Isolate(at="1s", lasts="2s", target="leader of lines")
    by_name = Isolate(at="1s", lasts="2s", target="edge")

    assert by_role.emulated(LINKS, COMPONENTS) == ["b1-core", "b2-core", "b2-b1"]
    assert by_name.emulated(LINKS, COMPONENTS) == ["edge-core"]


def test_a_misspelt_node_gets_a_suggestion():
    (problem,) = Isolate(at="1s", lasts="2s", target="b3").problems(
        ["b1", "edge"], LINKS, COMPONENTS
    )

    assert problem.says == "there is no node 'b3'. Known: b1, b2, core, edge."
