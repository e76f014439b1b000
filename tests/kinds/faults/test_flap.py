from streambed import Flap
from streambed.kinds.faults.of_links import LinkEnds
from streambed.record import wait_until
from tests.support.fakes import FakeWorld

LINKS = {"edge – core": LinkEnds(ends=("edge", "core"))}


def test_a_flapping_link_goes_down_and_up_and_is_up_when_healed():
    world = FakeWorld()
    wire = world.wire(("edge", "core"))
    downs = []
    cut = wire.cut

    def cut_and_count(sources):
        downs.append(sources)
        cut(sources)

    wire.cut = cut_and_count

    fault = Flap(at="1s", lasts="1s", link=("edge", "core"), down="10ms", up="10ms")
    injected = fault.inject(world)

    assert wire.cut_off == {"edge", "core"}, "it begins with the link down"
    assert wait_until(lambda: len(downs) >= 3, limit_s=2)
    injected.heal()
    assert wire.cut_off == set()


def test_a_flap_shorter_than_one_round_is_a_cut():
    fault = Flap(at="1s", lasts="400ms", link=("edge", "core"))

    (problem,) = fault.problems(["edge"], LINKS, {})

    assert problem.key == "lasts" and "use cut" in problem.says
