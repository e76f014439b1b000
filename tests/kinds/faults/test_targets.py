"""Targets that mean several processes, any of them, or all but one."""

from __future__ import annotations

import pytest

from streambed import (
    FailSync,
    FillDisk,
    Kafka,
    Kill,
    PowerFailure,
    SkewClock,
    SlowCpu,
    SlowSync,
    SparkCluster,
    SparkJob,
)
from streambed.errors import WorldError
from streambed.kinds.components.roles import holder_of, role
from streambed.kinds.faults.targets import candidates, component_of, resolve_hosts
from tests.support.fakes import FakeWorld

KAFKA = Kafka(name="kafka", nodes=("b1", "b2", "b3"), topics={"lines": {}})
PAIR = Kafka(name="pair", nodes=("c1", "c2"), topics={"words": {}})


def world_of_brokers(seed: int = 1) -> FakeWorld:
    world = FakeWorld()
    world.components = {"kafka": KAFKA}
    world.roles["leader of lines/0"] = "kafka/b2"
    world.plan.seed = seed
    return world


def killed(target: str, seed: int = 1) -> set[str]:
    world = world_of_brokers(seed)
    return set(Kill(at="1s", lasts="2s", target=target).inject(world).processes)


def problems(target: str, *clusters: Kafka) -> list[str]:
    components = {cluster.name: cluster for cluster in clusters or (KAFKA,)}
    fault = Kill(at="1s", lasts="2s", target=target)
    return [problem.says for problem in fault.problems([], {}, components)]


@pytest.mark.parametrize(
    "target",
    [
        "every broker but leader of lines/0",
        "every of kafka but leader of lines/0",
        "all but leader of lines/0",
        "all but kafka/b2",
    ],
)
def test_all_but_one_are_hit(target):
    assert problems(target) == []
    assert killed(target) == {"kafka/b1", "kafka/b3"}


def test_every_broker_is_hit_and_healed():
    world = world_of_brokers()
    injected = Kill(at="1s", lasts="2s", target="every broker").inject(world)

    assert injected.target == "kafka/b1, kafka/b2, kafka/b3 (every broker)"
    assert not any(world.find(name).alive for name in injected.processes)
    injected.heal()
    assert all(world.find(name).alive for name in injected.processes)


def test_any_broker_is_one_by_the_seed():
    chosen = [killed("any broker", seed) for seed in range(20)]

    assert all(len(one) == 1 for one in chosen)
    assert set.union(*chosen) == {"kafka/b1", "kafka/b2", "kafka/b3"}
    assert chosen == [killed("any broker", seed) for seed in range(20)]


def test_each_repetition_draws_anew():
    world = world_of_brokers()
    fault = Kill(at="1s", lasts="1s", every="2s", target="any broker")

    assert len({fault.inject(world).processes for _ in range(20)}) == 3


def test_a_minority_is_fewer_than_half():
    assert len(killed("minority of kafka")) == 1


def test_a_crowd_may_be_cut_off_by_its_hosts():
    hosts, label = resolve_hosts("all but leader of lines/0", world_of_brokers())

    assert (hosts, label) == (["b1", "b3"], "b1, b3 (all but leader of lines/0)")
    assert candidates("any broker", {"kafka": KAFKA}) == ("b1", "b2", "b3")
    assert component_of("minority of kafka", {"kafka": KAFKA}) == "kafka"


@pytest.mark.parametrize(
    ("target", "says"),
    [
        ("minority of kakfa", "there is no kafka component 'kakfa'. Did you mean 'kafka'?"),
        ("all but leader of liens/0", "no kafka component declares the topic 'liens'."),
        ("all but kafka/b9", "there is no 'kafka/b9'. Did you mean 'kafka/b"),
        ("any leader", "'any leader' is not a role: write one of "),
    ],
)
def test_a_crowd_that_names_nothing_is_a_problem(target, says):
    (found,) = problems(target)

    assert found.startswith(says)


def test_a_minority_needs_three_brokers():
    assert problems("minority of pair", PAIR) == [
        "pair has only 2 brokers: 'minority' needs 3 or more here"
    ]


def test_with_two_clusters_a_crowd_says_whose():
    assert problems("any broker", KAFKA, PAIR) == [
        "several components have brokers: write one of any of kafka, any of pair"
    ]


BREAKERS = {
    "kill": {"kind": Kill},
    "skew_clock": {"kind": SkewClock, "ahead": "1s"},
    "slow_sync": {"kind": SlowSync, "delay": "1s"},
    "fail_sync": {"kind": FailSync},
    "fill_disk": {"kind": FillDisk},
    "power_failure": {"kind": PowerFailure},
}


def breaker(name: str, target: str):
    values = dict(BREAKERS[name])
    return values.pop("kind")(at="1s", lasts="2s", target=target, **values)


@pytest.mark.parametrize("name", BREAKERS)
@pytest.mark.parametrize(
    ("target", "hit"),
    [
        ("every broker", {"kafka/b1", "kafka/b2", "kafka/b3"}),
        ("all but kafka/b2", {"kafka/b1", "kafka/b3"}),
        ("every broker but leader of lines/0", {"kafka/b1", "kafka/b3"}),
        ("leader of lines/0", {"kafka/b2"}),
        ("kafka/b1", {"kafka/b1"}),
    ],
)
def test_faults_of_processes_clocks_and_disks_hit_all_that_a_target_means(name, target, hit):
    fault = breaker(name, target)

    injected = fault.inject(world_of_brokers())

    assert fault.problems([], {}, {"kafka": KAFKA}) == []
    assert set(injected.processes) == hit
    injected.heal()


@pytest.mark.parametrize("name", ["slow_sync", "fill_disk", "power_failure"])
def test_all_processes_that_may_be_hit_are_prepared(name):
    (preparation,) = breaker(name, "all but kafka/b2").prepares({"kafka": KAFKA})

    assert (preparation.component, preparation.node) == ("kafka", "")


@pytest.mark.parametrize("name", ["skew_clock", "slow_cpu"])
def test_an_executor_cannot_have_another_clock_or_less_cpu_time(name):
    components = {
        "sparks": SparkCluster(name="sparks", master="m", workers=["w1"]),
        "shout": SparkJob(name="shout", node="m", job="shout.py", cluster="sparks"),
    }
    values = {"ahead": "1s"} if name == "skew_clock" else {"share": "10%"}
    kind = SkewClock if name == "skew_clock" else SlowCpu
    fault = kind(at="1s", lasts="2s", target="executor of shout", **values)

    (problem,) = fault.problems([], {}, components)

    assert problem.says.endswith("killed, stopped or paused: name its worker")


def test_the_role_of_an_executor_is_never_looked_up_at_a_broker():
    with pytest.raises(WorldError, match="no process of this run"):
        holder_of(role("executor of shout"), world_of_brokers())
