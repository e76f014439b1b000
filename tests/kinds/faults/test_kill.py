from streambed import Consumer, Kafka, Kill
from tests.support.fakes import FakeWorld

COMPONENTS = {
    "kafka": Kafka(name="kafka", nodes=("b1", "b2")),
    "reader": Consumer(name="reader", node="home", reads="lines"),
}


def problems(target: str) -> list[str]:
    return [
        problem.says
        for problem in Kill(at="1s", lasts="2s", target=target).problems([], [], COMPONENTS)
    ]


def test_a_killed_process_is_started_again_when_healed():
    world = FakeWorld()

    injected = Kill(at="1s", lasts="2s", target="reader").inject(world)

    assert not world.find("reader").alive
    injected.heal()
    assert world.find("reader").alive


def test_a_component_with_one_process_can_be_killed_by_its_name():
    assert problems("reader") == []


def test_a_component_with_several_processes_needs_the_name_of_one():
    assert problems("kafka") == ["'kafka' has several processes: name one, such as 'kafka/b1'"]
    assert problems("kafka/b2") == []


def test_a_misspelt_target_gets_a_suggestion():
    assert problems("raeder") == ["there is no 'raeder'. Did you mean 'reader'?"]
