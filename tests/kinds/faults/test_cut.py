from streambed import Cut
from streambed.kinds.faults.of_links import LinkEnds
from tests.support.fakes import FakeWorld

LINKS = {
    "edge – core": LinkEnds(ends=("edge", "core")),
    "north": LinkEnds(ends=("broker", "core"), named=True),
    "broker – core (2)": LinkEnds(ends=("core", "broker")),
}


def test_a_cut_link_carries_nothing_either_way_until_it_is_healed():
    world = FakeWorld()

    injected = Cut(at="1s", lasts="2s", link=("edge", "core")).inject(world)

    assert world.wire(("core", "edge")).cut_off == {"edge", "core"}
    injected.heal()
    assert world.wire(("core", "edge")).cut_off == set()


def test_a_cut_with_a_source_stops_only_what_leaves_that_end():
    world = FakeWorld()

    Cut(at="1s", lasts="2s", link=("edge", "core"), source="edge").inject(world)

    assert world.wire(("edge", "core")).cut_off == {"edge"}


def test_a_cut_names_the_nearest_link_when_there_is_no_such_link():
    (problem,) = Cut(at="1s", lasts="2s", link=("egde", "core")).problems(
        ["edge", "core"], LINKS, {}
    )

    assert problem.says == "there is no link egde – core. Did you mean [edge, core]?"


def test_a_cut_from_a_node_that_is_no_end_of_the_link_is_a_problem():
    (problem,) = Cut(at="1s", lasts="2s", link=("edge", "core"), source="broker").problems(
        [], LINKS, {}
    )

    assert problem.key == "source"


def test_two_ends_mean_all_links_between_them_and_a_name_means_one():
    all_of_them, one = (
        Cut(at="1s", lasts="2s", link=("core", "broker")),
        Cut(at="1s", lasts="2s", link="north"),
    )

    assert all_of_them.emulated(LINKS, {}) == ["north", "broker – core (2)"]
    assert one.emulated(LINKS, {}) == ["north"]
    assert (one.aim, one.problems([], LINKS, {})) == ("north", [])


def test_a_name_that_no_link_has_is_a_problem_with_the_nearest_one():
    (problem,) = Cut(at="1s", lasts="2s", link="norht").problems([], LINKS, {})

    assert problem.says == "there is no link norht. Did you mean 'north'?"


def test_only_links_with_a_name_are_suggested_for_one():
    (problem,) = Cut(at="1s", lasts="2s", link="x").problems([], LINKS, {})

    assert problem.says == "there is no link x. Known: north."


def test_where_no_link_has_a_name_the_ends_are_asked_for():
    unnamed = {name: link for name, link in LINKS.items() if not link.named}

    (problem,) = Cut(at="1s", lasts="2s", link="north").problems([], unnamed, {})

    assert problem.says == "there is no link north. No link has a name: give its two ends"
