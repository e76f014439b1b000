from fakes import FakeWorld

from streambed import Cut

LINKS = [("edge", "core"), ("broker", "core")]


def test_a_cut_link_carries_nothing_either_way_until_it_is_healed():
    world = FakeWorld()

    injury = Cut(at="1s", lasts="2s", link=("edge", "core")).inject(world)

    assert world.wire(("core", "edge")).cut_off == {"edge", "core"}
    injury.heal()
    assert world.wire(("core", "edge")).cut_off == set()


def test_a_cut_with_a_source_stops_only_what_leaves_that_end():
    world = FakeWorld()

    Cut(at="1s", lasts="2s", link=("edge", "core"), source="edge").inject(world)

    assert world.wire(("edge", "core")).cut_off == {"edge"}


def test_a_cut_names_the_nearest_link_when_there_is_no_such_link():
    (problem,) = Cut(at="1s", lasts="2s", link=("egde", "core")).problems(["edge", "core"], LINKS, {})

    assert problem.says == "there is no link egde – core. Did you mean 'edge-core'?"


def test_a_cut_from_a_node_that_is_no_end_of_the_link_is_a_problem():
    (problem,) = Cut(at="1s", lasts="2s", link=("edge", "core"), source="broker").problems([], LINKS, {})

    assert problem.key == "source"
