"""Traffic: who sends to whom, by which port, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from streambed.declare.experiment import Experiment, problems
from streambed.declare.link import Link
from streambed.declare.topology import Topology
from streambed.kinds.components import Traffic
from streambed.plan import Machine, ProcessSpec
from streambed.planner.planner import plan_for
from streambed.record.gauges import TrafficGauge
from streambed.record.orders import TrafficOrder
from tests.support.fakes import FakeWorld, order_of


def traffic(**changes: Any) -> Traffic:
    return Traffic(**{"name": "hum", "sources": "a", "to": "b", "rate": "8Mbit", **changes})


def experiment(*components: Traffic) -> Experiment:
    topology = Topology(links=[Link(ends=("a", "b")), Link(ends=("a", "c")), Link(ends=("b", "c"))])
    return Experiment(name="first", duration="10s", topology=topology, components=list(components))


def agents(*components: Traffic) -> tuple[ProcessSpec, ...]:
    return plan_for(
        experiment(*components),
        Machine(python="python"),
        base=Path("here"),
        directory=Path("runs/1"),
    ).processes


def order(agent: ProcessSpec) -> TrafficOrder:
    return order_of(agent, TrafficOrder)


def test_every_host_to_every_host_is_one_agent_each_that_sends_to_all_others() -> None:
    senders = agents(traffic(sources=["a", "b", "c"], to=["a", "b", "c"]))

    assert [agent.name for agent in senders] == ["hum/a", "hum/b", "hum/c"]
    assert order(senders[0]).to == ("10.0.0.2", "10.0.0.3")


def test_a_rate_is_spread_over_flows_and_counts_whole_packets() -> None:
    (sender, receiver) = agents(traffic(flows=2, size="500B"))

    assert order(sender).step_ns == 1_000_000
    assert order(receiver).to == ()


def test_it_ends_with_the_load() -> None:
    (sender, _) = agents(traffic(after="4s", lasts="20s"))

    assert (order(sender).after_ns, order(sender).lasts_ns) == (4e9, 6e9)


def test_two_of_them_on_one_host_have_different_ports() -> None:
    ports = {order(agent).port for agent in agents(traffic(), traffic(name="other"))}

    assert len(ports) == 2


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"rate": None}, "the pattern constant needs a rate above 0"),
        ({"rate": "0bit"}, "needs a rate above 0"),
        ({"pattern": "tcp"}, "TCP flows take what they get"),
        ({"size": "2kB"}, "size must be between 64B and 1500B"),
        ({"pattern": "on_off", "pauses": "0s"}, "must be above 0s"),
    ],
)
def test_impossible_values_are_refused(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        traffic(**changes)


@pytest.mark.parametrize(
    ("changes", "key", "says"),
    [
        ({"to": "a"}, "to", "it would send to itself alone: name another host"),
        ({"to": ["b", "b"]}, "to.1", "'b' is named twice"),
        ({"to": "q"}, "to.0", "there is no node 'q'. Known: a, b, c."),
        (
            {"rate": "1Gbit"},
            "rate",
            "a host would send 125000 packets/s, but 50000 are the most: give a larger size, or "
            "tcp",
        ),
    ],
)
def test_what_is_wrong_beside_others_names_its_key(
    changes: dict[str, Any], key: str, says: str
) -> None:
    (problem,) = problems(experiment(traffic(**changes)), Path())

    assert (problem.key, problem.says) == (f"components.hum.{key}", says)


def test_it_is_ready_when_everybody_listens() -> None:
    world = FakeWorld()
    missing = traffic().readiness(world)  # type: ignore[arg-type]
    world.gauges["hum/a"] = TrafficGauge(ready=True)

    assert missing() == "its agents on b do not listen yet"
    world.gauges["hum/b"] = TrafficGauge(ready=True)
    assert missing() == ""
