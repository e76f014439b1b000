"""A producer refuses what cannot be sent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from streambed import Kafka, Producer
from streambed.declare.experiment import Experiment
from streambed.declare.link import Link
from streambed.declare.topology import Topology
from streambed.plan import Machine
from streambed.planner.planner import plan_for
from streambed.record.gauges import ProducerGauge
from streambed.record.orders import ProducerMember, ProducerOrder
from tests.support.fakes import FakeWorld, order_of

OTHERS = {"kafka": Kafka(name="kafka", nodes=["b"], topics={"lines": {}})}


def producer(**changes: Any) -> Producer:
    return Producer(name="poet", node="a", writes="lines", **changes)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"rate": "0/s"}, "rate must be above 0"),
        ({"key": "tab"}, "key: tab needs a file"),
        ({"content": "folder"}, "content: folder needs a file"),
        ({"rounds": 2}, "rounds needs a file"),
        ({"function": "made"}, "function must be module:function"),
        ({"transaction": {"records": 5}, "acks": 1}, "transaction needs acks: all"),
        ({"rate": None, "arrivals": "pareto"}, "arrivals needs a rate"),
        ({"nodes": ["b", "c"]}, "give node or nodes, not both"),
        ({"file": "a", "rounds": 2, "count": 3}, "give count or rounds, not both"),
        ({"idempotence": True, "acks": 1}, "idempotence needs acks: all, not 1"),
    ],
)
def test_an_impossible_producer_is_refused(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        producer(**changes)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"file": "a.txt"}, "there is no file 'a.txt' beside the declaration. Known: empty."),
        (
            {"function": "made:up"},
            "there is no file 'made.py' beside the declaration. Known: empty.",
        ),
        (
            {"file": "emty", "content": "folder"},
            "there is no folder 'emty' beside the declaration. Did you mean 'empty'?",
        ),
        ({"file": "empty", "content": "folder"}, "the folder 'empty' holds no file to send"),
    ],
)
def test_what_it_sends_must_be_there(tmp_path: Path, changes: dict[str, Any], says: str) -> None:
    (tmp_path / "empty").mkdir()

    assert [problem.says for problem in producer(**changes).problems(OTHERS, tmp_path)] == [says]


def test_producers_of_many_hosts_share_a_few_processes_each_with_whole_hosts() -> None:
    hosts = [f"h{number}" for number in range(1, 6)]
    many = Producer(name="load", nodes=hosts, each=10, agents=2, writes=["lines", "words"])

    assert many.groups == {"load/h1": ("h1", "h2"), "load/h3": ("h3", "h4", "h5")}
    assert many.places == {f"nodes.{at}": host for at, host in enumerate(hosts)}
    assert many.answers(Path("data")) == {"topic": "lines,words"}
    assert producer().groups == {"poet": ("a",)}


def test_every_topic_must_be_declared_and_no_host_named_twice(tmp_path: Path) -> None:
    wrong = Producer(name="load", nodes=["a", "a"], writes=["lines", "line"])

    assert [(problem.key, problem.says) for problem in wrong.problems(OTHERS, tmp_path)] == [
        ("writes", "no kafka component declares the topic 'line'. Did you mean 'lines'?"),
        ("nodes.1", "'a' is named twice"),
    ]


def test_it_is_ready_when_all_of_its_agents_are() -> None:
    world = FakeWorld()
    missing = Producer(name="load", nodes=["a", "b"], writes="lines").readiness(world)
    world.gauges = {"load/a": ProducerGauge(ready=True)}

    assert missing() == "its agents have not reported yet: load/b"
    world.gauges["load/b"] = ProducerGauge(ready=True)
    assert missing() == ""


def test_the_order_of_thousands_of_producers_is_in_a_file_and_not_in_the_command(
    tmp_path: Path,
) -> None:
    hosts = [f"h{number}" for number in range(1, 21)]
    many = Producer(name="load", nodes=hosts, each=1000, agents=4, writes="lines")
    topology = Topology(switches=["core"], links=[Link(ends=(host, "core")) for host in hosts])
    experiment = Experiment(
        name="many",
        duration="1s",
        topology=topology,
        components=[Kafka(name="kafka", nodes=["h1"], topics={"lines": {}}), many],
    )
    machine = Machine(python="python", java="java", java_version=21)
    plan = plan_for(experiment, machine, base=tmp_path, directory=Path("runs/1"))
    agents = [spec for spec in plan.processes if spec.component == "load"]

    assert agents[1].argv == (
        "python",
        "-P",
        "-m",
        "streambed.agents.host_network",
        "streambed.agents.producer.main",
        "runs/1/orders/load.h6.json",
    )
    assert len(agents[1].files[0].text) > 131_072, (
        "the kernel takes no longer word of a command than this"
    )
    order = order_of(agents[1], ProducerOrder)
    assert len(order.members) == 5000
    assert order.members[-1] == ProducerMember(
        name="load/h10/1000", number=9999, of=20_000, host="h10"
    )
    assert order.records.topics == ("lines",)
