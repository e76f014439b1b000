"""Placement: components without hosts get them by a rule, the same for the same seed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from streambed.declare.experiment import Experiment
from streambed.declare.link import Link
from streambed.declare.topology import Topology
from streambed.declare.yaml.reader import read
from streambed.errors import DeclarationError
from streambed.kinds.components.consumer import Consumer
from streambed.kinds.components.kafka.kafka import Kafka
from streambed.kinds.components.producer import Producer
from streambed.kinds.components.spark.job import SparkJob
from streambed.planner.placement import place_components, problems

LINKS = [
    Link(ends=("west", "east"), delay="10ms"),
    *(Link(ends=(host, "west"), delay="1ms") for host in ("w1", "w2", "w3")),
    *(Link(ends=(host, "east"), delay="1ms") for host in ("e1", "e2")),
]


def experiment(*components: Any, **keys: Any) -> Experiment:
    return Experiment(
        name="first",
        duration="1s",
        topology=Topology(switches=["west", "east"], links=LINKS),
        components=list(components),
        **keys,
    )


def where(experiment: Experiment) -> dict[str, list[str]]:
    return {
        name: list(component.places.values())
        for name, component in place_components(experiment).components.items()
    }


def kafka(**keys: Any) -> Kafka:
    return Kafka(**{"name": "kafka", "topics": {"lines": {}}, **keys})


def test_round_robin_takes_the_hosts_with_the_least_to_do_in_their_order() -> None:
    poets = [
        Producer(name=f"p{number}", writes="lines", place="round_robin") for number in range(6)
    ]

    hosts = where(experiment(kafka(nodes=["w1"]), *poets))

    assert [hosts[f"p{number}"] for number in range(6)] == [
        ["w2"],
        ["w3"],
        ["e1"],
        ["e2"],
        ["w1"],
        ["w2"],
    ]


def test_spread_takes_hosts_at_different_switches() -> None:
    assert where(experiment(kafka(place={"by": "spread", "count": 4}))) == {
        "kafka": ["w1", "e1", "w2", "e2"]
    }


def test_a_producer_gets_one_host_or_as_many_as_its_rule_counts() -> None:
    one, many = (
        Producer(name="load", writes="lines", place={"by": "round_robin", "count": count})
        for count in (1, 3)
    )

    assert where(experiment(kafka(nodes=["w1"]), one)) == {"kafka": ["w1"], "load": ["w2"]}
    assert len(where(experiment(kafka(nodes=["w1"]), many))["load"]) == 3


def test_nearest_is_near_to_the_given_components_or_to_those_whose_topics_it_reads() -> None:
    job = SparkJob(name="job", job="job.py", reads=["lines"], place="nearest")
    near = Consumer(name="near", reads="lines", place={"by": "nearest", "to": ["poet"]})
    poet = Producer(name="poet", writes="lines", node="w3")

    hosts = where(experiment(kafka(nodes=["e1"]), poet, job, near))

    assert (hosts["job"], hosts["near"]) == (["e1"], ["w3"])


def test_random_is_the_same_for_the_same_seed() -> None:
    def one(seed: int) -> dict[str, list[str]]:
        return where(
            experiment(
                kafka(place={"by": "random", "count": 3, "among": ["w1", "w2", "e1", "e2"]}),
                seed=seed,
            )
        )

    assert one(1) == one(1)
    assert len(set(one(1)["kafka"])) == 3
    assert len({tuple(one(seed)["kafka"]) for seed in range(20)}) > 5


def test_auto_maps_a_whole_application_and_leaves_alone_what_names_its_host() -> None:
    poet, reader = (
        Producer(name="poet", writes="lines"),
        Consumer(name="reader", reads="lines", node="e2"),
    )
    job = SparkJob(name="job", job="job.py", reads=["lines"])

    hosts = where(
        experiment(kafka(place={"by": "auto", "count": 2}), poet, job, reader, place="auto")
    )

    assert hosts == {"kafka": ["w1", "e1"], "poet": ["w2"], "reader": ["e2"], "job": ["w1"]}


def test_placing_again_changes_nothing() -> None:
    once = place_components(
        experiment(kafka(place="spread"), Producer(name="poet", writes="lines", place="random"))
    )

    assert place_components(once) == once


def test_a_rule_that_cannot_be_followed_is_reported_with_the_reason() -> None:
    wrong = experiment(
        kafka(place={"by": "spread", "count": 9}),
        Producer(name="poet", writes="lines", place={"by": "nearest", "to": ["kafak"]}),
        Consumer(name="reader", reads="lines", place={"by": "random", "among": ["w9"]}),
        Consumer(name="nowhere", reads="lines"),
    )

    assert {problem.key: problem.says for problem in problems(wrong)} == {
        "components.kafka.place.count": "9 hosts are asked for, but there are 5 to choose from",
        "components.poet.place.to": "there is no component 'kafak'. Did you mean 'kafka'?",
        "components.reader.place.among": "there is no host 'w9'. Known: e1, e2, w1, w2, w3.",
        "components.nowhere.node": (
            "is missing: name the host, or say with `place` how to choose one"
        ),
    }


def test_a_file_tells_the_line_of_a_component_without_a_host(tmp_path: Path) -> None:
    path = tmp_path / "experiment.yaml"
    path.write_text(
        "version: 1\nname: first\nduration: 1s\ntopology: {links: [{ends: [a, b]}]}\n"
        "components:\n  one: {kind: command, argv: ['true']}\n  two: {kind: command, argv: "
        "['true'], place: random}\n"
    )
    try:
        read(path)
    except DeclarationError as error:
        assert "components.one.node: is missing" in str(error) and ":6:" in str(error)
    else:
        raise AssertionError("it was accepted")
