"""A consumer on one host or on many."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from streambed import Consumer, Embedded, Kafka, Sink

OTHERS = {"kafka": Kafka(name="kafka", nodes=["b"], topics={"lines": {}})}


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"node": "a", "nodes": ["b", "c"]}, "give node or nodes, not both"),
        (
            {"nodes": ["b", "c"], "group": "both", "share": False},
            "give a group to share, or `share: false`, not both",
        ),
    ],
)
def test_an_impossible_consumer_is_refused(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        Consumer(name="reader", reads="lines", **changes)


def test_a_host_that_is_named_twice_is_a_problem() -> None:
    (problem,) = Consumer(name="reader", reads="lines", nodes=["a", "b", "a"]).problems(
        OTHERS, Path()
    )

    assert (problem.key, problem.says) == ("nodes.2", "'a' is named twice")


def test_consumers_of_many_hosts_are_held_by_few_processes() -> None:
    consumer = Consumer(name="reader", reads="lines", nodes=["a", "b", "c", "d", "e"], agents=2)

    assert consumer.groups == {"reader/a": ("a", "b"), "reader/c": ("c", "d", "e")}
    assert consumer.group_names == ("reader",)


def test_each_host_may_be_a_separate_group() -> None:
    assert Consumer(name="reader", reads="lines", nodes=["a", "b"], share=False).group_names == (
        "reader/a",
        "reader/b",
    )


@pytest.mark.parametrize("kind", [Consumer, Sink])
def test_when_offsets_are_stored_cannot_be_set(kind: Any) -> None:
    others = {**OTHERS, "file": Embedded(name="file", node="a", engine="sqlite")}
    keys = {"store": "file", "table": "t"} if kind is Sink else {}
    reader = kind(
        name="reader", node="a", reads="lines", settings={"enable.auto.offset.store": True}, **keys
    )

    (problem,) = reader.problems(others, Path())

    assert problem.key == "settings"
    assert "enable.auto.offset.store cannot be set: offsets are stored once" in problem.says
