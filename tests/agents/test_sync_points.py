"""A producer stops at a commit for a fault: once for each fault, in all of its lives together."""

import threading
import time

import pytest

from streambed.agents import agent as agents
from streambed.kinds.faults.when.triggers import Committing
from streambed.record import now_ns
from streambed.record.gates import COMMITTING
from tests.support.fakes import FakeWorld


@pytest.fixture
def world(tmp_path):
    (tmp_path / "gates").mkdir()
    world = FakeWorld()
    world.directory = tmp_path
    return world


@pytest.fixture
def life(world, monkeypatch):
    """Makes a new life of the producer `bank`."""
    monkeypatch.setenv("STREAMBED_RUN", str(world.directory))
    monkeypatch.setenv("STREAMBED_PROCESS", "bank")

    def begin(*times):
        agent = agents.Agent()
        agent.sync_points = {"bank": times}
        return agent

    return begin


def commit(agent):
    """Come to a commit in a thread."""
    thread = threading.Thread(target=agent.sync, args=("bank", COMMITTING), daemon=True)
    thread.start()
    return thread


def await_claim(look):
    end_ns = now_ns() + 2_000_000_000
    while look() is None:
        assert now_ns() < end_ns
        time.sleep(0.001)


def test_a_producer_waits_until_the_fault_was_injected(world, life):
    trigger = Committing("bank")
    thread = commit(life(0))
    await_claim(trigger.watch(world, {}))
    assert thread.is_alive()

    trigger.let_go(world)

    thread.join(2)
    assert not thread.is_alive()


def test_a_producer_that_was_killed_at_a_commit_does_not_wait_again(world, life):
    trigger = Committing("bank")
    first = life(0)
    commit(first)
    await_claim(trigger.watch(world, {}))
    trigger.let_go(world)

    began_ns = now_ns()
    life(0).sync("bank", COMMITTING)

    assert now_ns() - began_ns < 500_000_000


def test_two_faults_come_at_two_commits(world, life):
    one, two = Committing("bank"), Committing("bank")
    looks = [one.watch(world, {}), two.watch(world, {})]
    bank = life(0, 0)
    first = commit(bank)
    await_claim(looks[0])
    assert looks[1]() is None
    one.let_go(world)
    first.join(2)

    second = commit(bank)
    await_claim(looks[1])
    two.let_go(world)

    second.join(2)
    assert not second.is_alive()


def test_a_stop_that_nobody_claims_is_over_after_a_while(world, life, monkeypatch):
    monkeypatch.setattr(agents, "SYNC_LIMIT_S", 0.01)

    life(0).sync("bank", COMMITTING)

    assert Committing("bank").watch(world, {})() is None


def test_a_producer_does_not_wait_before_its_time(world, life):
    life(now_ns() + 60_000_000_000).sync("bank", COMMITTING)

    assert list((world.directory / "gates").iterdir()) == []
