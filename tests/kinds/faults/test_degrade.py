from streambed import Degrade
from streambed.kinds.faults.of_links import LinkEnds
from tests.support.fakes import FakeWorld

LINKS = {
    "edge – core": LinkEnds(ends=("edge", "core")),
    "north": LinkEnds(ends=("broker", "core"), named=True),
    "broker – core (2)": LinkEnds(ends=("core", "broker")),
}


def degrade(**given: object) -> Degrade:
    return Degrade(at="1s", lasts="2s", **{"link": ["edge", "core"], **given})


def problems(**given: object) -> list[tuple[str, str]]:
    return [(problem.key, problem.says) for problem in degrade(**given).problems([], LINKS, {})]


def test_a_degraded_link_has_other_values_both_ways_until_it_is_healed():
    world = FakeWorld()

    injected = degrade(delay="30ms", loss="1%").inject(world)

    changed = {
        "delay_ns": 30_000_000,
        "jitter_ns": 0,
        "distribution": "uniform",
        "samples_ns": (),
        "loss": 0.01,
        "loss_enter": 0.0,
    }
    assert world.wire(("edge", "core")).changes == {"edge": changed, "core": changed}
    assert injected.target == "edge – core: delay 30ms, loss 1%"
    injected.heal()
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
    assert problems() == [
        ("delay", "nothing changes: give a delay, a loss, a rate or another key of a link")
    ]


def test_jitter_needs_a_delay_that_is_as_long():
    assert problems(jitter="5ms") == [("jitter", "jitter needs a delay: give that as well")]
    too_much = (
        "a jitter of 5ms is more than the delay of 1ms: give no more than that, or a longer delay"
    )
    assert problems(delay="1ms", jitter="5ms") == [("jitter", too_much)]


def test_a_link_that_is_not_there_is_a_problem():
    assert problems(link=[["edge", "cork"]], loss="1%") == [
        ("link", "there is no link edge – cork. Did you mean [edge, core]?")
    ]


def test_every_key_of_a_link_can_be_changed():
    world = FakeWorld()
    given = {
        "delay": "9ms",
        "jitter": "1ms",
        "distribution": "normal",
        "in_order": True,
        "loss": {"enter": "1%", "leave": "5%"},
    }

    injected = degrade(
        **given, duplicate="2%", corrupt="3%", rate="1Mbit", queue="15kB", source="edge"
    ).inject(world)

    assert world.wire(("edge", "core")).changes["edge"] == {
        "delay_ns": 9_000_000,
        "jitter_ns": 1_000_000,
        "distribution": "normal",
        "samples_ns": (),
        "in_order": True,
        "loss": 0.0,
        "loss_enter": 0.01,
        "loss_leave": 0.05,
        "loss_bad": 1.0,
        "loss_good": 0.0,
        "duplicate": 0.02,
        "corrupt": 0.03,
        "rate_bps": 1_000_000,
        "queue_bytes": 15_000,
    }
    assert injected.target == (
        "edge → core: delay 9ms, jitter 1ms, distribution normal, in_order True, loss enter 1%, "
        "leave 5%, bad 100%, good 0%, "
        "duplicate 2%, corrupt 3%, rate 1Mbit, queue 15kB"
    )


def test_impossible_values_are_problems():
    assert problems(loss={"enter": "1%", "leave": "0%"}) == [
        ("loss.leave", "a burst that never ends is a cut: give more than 0%")
    ]
    assert problems(duplicate="101%") == [("duplicate", "101% is more than 100 %")]
