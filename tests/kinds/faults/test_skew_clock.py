from streambed import Kafka, SkewClock
from streambed.plan import Machine
from tests.support.fakes import FakeWorld

COMPONENTS = {"kafka": Kafka(name="kafka", nodes=("b1", "b2"))}


def problems(**keys: str) -> list[str]:
    fault = SkewClock(at="1s", lasts="2s", target="kafka/b1", **keys)
    return [f"{found.key}: {found.says}" for found in fault.problems([], {}, COMPONENTS)]


def test_the_clock_of_the_holder_of_a_role_is_skewed_and_healed():
    world = FakeWorld()
    world.roles["leader of lines/0"] = "kafka/b2"
    fault = SkewClock(at="1s", lasts="2s", target="leader of lines/0", behind="1min", fast="1%")

    injected = fault.inject(world)

    clock = world.find("kafka/b2").clock
    assert (clock.ahead_ns, clock.rate) == (-60 * 10**9, 0.01)
    assert injected.target == "kafka/b2 (leader of lines/0): 1min behind, 1% fast"
    injected.heal()
    assert (clock.ahead_ns, clock.rate) == (0, 0.0)


def test_a_clock_that_would_be_right_is_a_mistake():
    assert problems() == ["ahead: the clock is right: give `ahead`, `behind`, `fast` or `slow`"]


def test_a_clock_is_wrong_in_one_direction():
    assert problems(ahead="1s", behind="1s") == ["behind: the clock is ahead already: give one"]
    assert problems(fast="1%", slow="1%") == ["slow: the clock is fast already: give one"]


def test_a_clock_cannot_stand_still_or_be_centuries_off():
    assert problems(slow="100%") == ["slow: 100% is too much: give less than 100%"]
    assert len(problems(ahead="900000h")) == 1


def test_a_machine_that_refuses_it_says_why():
    fault = SkewClock(at="1s", lasts="2s", target="kafka/b1", ahead="1s")

    assert fault.lacks(Machine(clock_refusal="no vDSO")) == "no vDSO"
    assert fault.lacks(Machine()) == ""
