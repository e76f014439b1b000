"""Experiments made in Python, and what is wrong although each key for itself is right."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from streambed.declare.experiment import Experiment, check, problems, with_defaults
from streambed.declare.link import Link
from streambed.declare.topology import Topology
from streambed.errors import DeclarationError
from streambed.kinds.components.command import Command
from streambed.kinds.components.kafka.kafka import Kafka
from streambed.kinds.components.kafka.topic import Topic
from streambed.kinds.components.producer import Producer

KAFKA = Kafka(name="kafka", nodes=["a"], topics={"lines": Topic()})
POET = Producer(name="poet", node="b", writes="lines")


def experiment(*components: Any, **changes: Any) -> Experiment:
    topology = Topology(
        switches=["core"], links=[Link(ends=("a", "core")), Link(ends=("b", "core"))]
    )
    return Experiment(
        **{
            "name": "first",
            "duration": "10s",
            "topology": topology,
            "components": list(components),
            **changes,
        }
    )


def says(problems_found: Experiment) -> list[str]:
    return [f"{problem.key}: {problem.says}" for problem in problems(problems_found, Path())]


def test_components_in_python_are_a_list_with_names() -> None:
    assert experiment(KAFKA, POET).components == {"kafka": KAFKA, "poet": POET}


def test_a_right_experiment_has_no_problems() -> None:
    check(experiment(KAFKA, POET), Path())


def test_two_components_of_one_name_are_refused() -> None:
    with pytest.raises(ValidationError, match="two components have the same name"):
        experiment(KAFKA, KAFKA)


def test_check_tells_all_problems_of_an_experiment_made_in_python() -> None:
    wrong = experiment(Kafka(name="kafka", nodes=["c"]), POET, duration="0s")

    with pytest.raises(DeclarationError) as refused:
        check(wrong, Path())

    assert [problem.key for problem in refused.value.problems] == [
        "duration",
        "components.poet.writes",
        "components.kafka.nodes.0",
    ]


def test_two_clusters_cannot_share_a_host() -> None:
    assert says(experiment(KAFKA, Kafka(name="other", nodes=["b", "a"]))) == [
        "components.other.nodes.1: 'a' runs 'kafka' already, and both would want port 9092: "
        "give one another `port` or node"
    ]


def test_hosts_with_components_must_reach_each_other() -> None:
    apart = Topology(links=[Link(ends=("a", "c")), Link(ends=("c", "b"))])

    assert says(experiment(KAFKA, POET, topology=apart)) == [
        "topology.links: there is no path from 'a' to 'b': add a link. Packets pass through "
        "switches only, hosts do not forward"
    ]


def test_a_disconnected_network_is_refused_once() -> None:
    apart = Topology(
        switches=["core"],
        links=[Link(ends=("a", "core")), Link(ends=("b", "d")), Link(ends=("c", "d"))],
    )

    assert says(experiment(KAFKA, POET, topology=apart)) == [
        "topology.links.1.ends: no path from 'b' to 'a': add a link between the two parts"
    ]


@pytest.mark.parametrize(
    "text",
    [
        "{kafka.bootstrap}",
        "{a.address}",
        "{self.checkpoint}",
        "{run.seed}",
        "{{no.thing}}",
        '{"a": {"b": 1}}',
        "{}",
        "${HOME}",
    ],
)
def test_references_and_other_braces_are_accepted(text: str) -> None:
    assert says(experiment(KAFKA, Command(name="tool", node="a", argv=["true", text]))) == []


def test_a_reference_to_nothing_is_reported_with_what_exists() -> None:
    tool = Command(
        name="tool", node="a", argv=["true", "x={a.adress}"], env={"GROUP": "{nobody.group}"}
    )

    assert [line.split(" Known:")[0] for line in says(experiment(KAFKA, tool))] == [
        "components.tool.argv.1: nothing answers to {a.adress}. Did you mean 'a.address'?",
        "components.tool.env.GROUP: nothing answers to {nobody.group}.",
    ]


def test_an_old_declaration_is_completed_with_what_has_a_default_today() -> None:
    today = experiment(KAFKA, POET).declaration()
    old = {**today, "components": {name: {**body} for name, body in today["components"].items()}}
    del old["drain"], old["components"]["poet"]["linger"]

    assert with_defaults(old) == today
    assert with_defaults({**old, "forgotten": 1}) == {**old, "forgotten": 1}
