from fakes import FakeWorld

from streambed import Degrade
from streambed.plan import Machine

LINKS = {"edge – core": ("edge", "core"), "north": ("broker", "core"), "broker – core (2)": ("core", "broker")}


def degrade(**given: object) -> Degrade:
    return Degrade(at="1s", lasts="2s", **{"link": ["edge", "core"], **given})


def problems(**given: object) -> list[tuple[str, str]]:
    return [(problem.key, problem.says) for problem in degrade(**given).problems([], LINKS, {})]


def test_a_degraded_link_has_other_values_both_ways_until_it_is_healed():
    world = FakeWorld()

    injury = degrade(delay="30ms", loss="1%").inject(world)

    changed = {"delay_ns": 30_000_000, "jitter_ns": 0, "loss": 0.01}
    assert world.wire(("edge", "core")).changes == {"edge": changed, "core": changed}
    assert injury.target == "edge – core: delay 30ms, loss 1%"
    injury.heal()
    assert world.wire(("edge", "core")).changes == {}


def test_with_a_source_only_what_leaves_that_end_is_changed():
    world = FakeWorld()

    degrade(source="edge", rate="1Mbit").inject(world)

    assert world.wire(("edge", "core")).changes == {"edge": {"rate_bps": 1_000_000}}


def test_several_links_are_changed_at_once():
    fault = degrade(link=[["edge", "core"], ["broker", "core"]], loss="5%")
    world = FakeWorld()

    fault.inject(world)

    assert all(wire.changes for wire in world.wires.values()) and len(world.wires) == 2
    assert fault.emulated(LINKS, {}) == ["edge – core", "north", "broker – core (2)"]


def test_a_fault_that_changes_nothing_is_a_problem():
    assert problems() == [("delay", "nothing changes: give a delay, a loss or a rate")]


def test_jitter_needs_a_delay_that_is_as_long():
    assert problems(jitter="5ms") == [("jitter", "jitter needs a delay: give that as well")]
    assert problems(delay="1ms", jitter="5ms") == [("jitter", "a jitter of 5ms is more than the delay of 1ms")]


def test_a_link_that_is_not_there_is_a_problem():
    assert problems(link=[["edge", "cork"]], loss="1%") == [("link", "there is no link edge – cork. Did you mean 'edge-core'?")]


def test_what_a_machine_cannot_do_is_refused():
    assert "cannot limit rates" in degrade(rate="1Mbit").lacks(Machine(shaping=False))
    assert "cannot delay by less than 100us" in degrade(delay="50us").lacks(Machine(means="delay_line"))
    assert degrade(delay="50us", rate="1Mbit").lacks(Machine(means="netem")) == ""
