from streambed import Consumer, Kafka, Replace
from tests.support.fakes import FakeWorld

COMPONENTS = {
    "kafka": Kafka(name="kafka", nodes=("b1",), topics={"lines": {}}),
    "reader": Consumer(name="reader", node="home", reads="lines"),
}


def test_the_first_life_is_paused_beside_the_second_and_continues_when_healed():
    world = FakeWorld()

    injected = Replace(at="1s", lasts="2s", target="reader").inject(world)

    assert world.find("reader").paused and world.find("reader~2").alive
    assert injected.processes == ("reader", "reader~2")
    injected.heal()
    assert not world.find("reader").paused


def test_a_server_cannot_have_two_lives():
    fault = Replace(at="1s", lasts="2s", target="kafka")

    (problem,) = fault.problems([], {}, COMPONENTS)

    assert "'kafka' is a server: two lives of it would want the same ports" in problem.says
