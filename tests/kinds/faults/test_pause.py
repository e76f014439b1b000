from streambed import Pause
from tests.support.fakes import FakeWorld


def test_a_paused_process_survives_and_continues_when_healed():
    world = FakeWorld()

    injected = Pause(at="1s", lasts="2s", target="reader").inject(world)

    assert world.find("reader").paused and world.find("reader").alive
    injected.heal()
    assert not world.find("reader").paused


def test_a_role_is_paused_where_it_is_held_at_that_moment():
    world = FakeWorld()
    world.roles["coordinator of readers"] = "kafka/b2"

    injected = Pause(at="1s", lasts="2s", target="coordinator of readers").inject(world)

    assert world.find("kafka/b2").paused
    assert injected.target == "kafka/b2 (coordinator of readers)"
