"""Stop and restart: processes end in order, and one waits for the other."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from streambed import Kafka, Restart, Stop
from streambed.errors import WorldError
from streambed.plan import ProcessSpec
from tests.support.fakes import FakeWorld

COMPONENTS = {"kafka": Kafka(name="kafka", nodes=("b1", "b2", "b3"), topics={"lines": {}})}


def world_of_brokers(missing: str = "") -> FakeWorld:
    world = FakeWorld()
    brokers = ("kafka/b1", "kafka/b2", "kafka/b3")
    world.plan.processes = tuple(
        ProcessSpec(name=name, component="kafka", node=name[6:], argv=()) for name in brokers
    )

    def readiness(_: FakeWorld):
        return lambda: missing

    world.components = {"kafka": SimpleNamespace(as_broker=None, readiness=readiness)}
    return world


def test_a_stopped_process_is_started_again_when_healed():
    world = FakeWorld()

    injected = Stop(at="1s", lasts="2s", target="reader").inject(world)

    assert not world.find("reader").alive
    injected.heal()
    assert world.find("reader").alive


def test_a_rolling_restart_takes_one_process_after_the_other():
    world = world_of_brokers()

    injected = Restart(at="1s", target="kafka").inject(world)

    alive = [world.find(f"kafka/b{number}").alive for number in (1, 2, 3)]
    assert alive == [False, True, True], "the second waits until the first is ready"
    injected.heal()
    assert [world.find(f"kafka/b{number}").lives for number in (1, 2, 3)] == [2, 2, 2]
    assert injected.target == "kafka/b1, kafka/b2, kafka/b3"


def test_a_process_that_does_not_get_ready_ends_the_roll():
    world = world_of_brokers(missing="no leader yet for lines")

    injected = Restart(at="1s", target="kafka", within="50ms").inject(world)

    with pytest.raises(WorldError, match="kafka/b1 was not ready within 50ms: no leader yet"):
        injected.heal()
    assert world.find("kafka/b2").lives == 1


def test_a_whole_component_may_be_restarted_but_not_a_misspelt_one():
    assert Restart(at="1s", target="kafka").problems([], {}, COMPONENTS) == []
    (problem,) = Restart(at="1s", target="kakfa").problems([], {}, COMPONENTS)
    assert "there is no 'kakfa'" in problem.says
