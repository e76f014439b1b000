"""The schema accepts what is right and marks what is wrong."""

from __future__ import annotations

import functools
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from ruamel.yaml import YAML

from streambed.declare.yaml import schema as schemas
from tests.support.declare.samples import GOOD, spoilt

schema = functools.cache(schemas.schema)


def errors(text: str) -> list[str]:
    content: Any = YAML(typ="safe", pure=True).load(text)
    return [error.message for error in Draft202012Validator(schema()).iter_errors(content)]


def test_it_is_a_schema() -> None:
    Draft202012Validator.check_schema(schema())


def test_it_accepts_an_experiment() -> None:
    assert errors(GOOD) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("version: 1\n", ""),
        ("delay: 20ms", "delya: 20ms"),
        ("delay: 20ms", "delay: 20"),
        ("kind: cut", "kind: flood"),
        ("kind: cut, ", ""),
        ("writes: lines, ", ""),
        ("rate: 500/s", "name: poet"),
    ],
)
def test_it_marks_a_mistake(old: str, new: str) -> None:
    assert len(errors(spoilt(old, new))) == 1


def test_it_describes_keys_for_editors() -> None:
    schema_of_files = schema()

    assert (
        schema_of_files["properties"]["duration"]["description"]
        == "How long the load lasts; faults are counted from its start."
    )
    assert schema_of_files["$defs"]["Producer"]["properties"]["size"]["default"] == "100B"


def test_it_describes_the_keys_that_links_and_faults_share() -> None:
    kinds = schema()["$defs"]

    told = [
        kinds[kind]["properties"]["reorder"]["description"]
        for kind in ("Link", "Direction", "Degrade")
    ]
    assert told == ["How many packets are not delayed, so that they overtake others."] * 3
