"""Tables whose kinds are imported when they are asked for."""

import subprocess
import sys

import pytest
from pydantic import ValidationError

from streambed import Experiment, Link, Topology
from streambed.declare import generators
from streambed.kinds import checks, components, faults

TABLES = {
    components: components.COMPONENTS,
    faults: faults.FAULTS,
    checks: checks.CHECKS,
    generators: generators.GENERATORS,
}
PROGRAM = """
import sys
from streambed.declare.experiment import Experiment
from streambed.declare.topology import Topology

topology = Topology(hosts=["edge"])
kafka = {"kind": "kafka", "nodes": ["edge"]}
Experiment(name="first", duration="1s", topology=topology, components={"kafka": kafka})
print(*[name for name in sys.modules if name.startswith("streambed.kinds.components.")])
"""


@pytest.mark.parametrize("package", TABLES, ids=lambda package: package.__name__)
def test_a_table_names_the_class_of_every_kind(package):
    table = TABLES[package]

    assert all(kind.__pydantic_fields__["kind"].default == word for word, kind in table.items())
    assert {kind.__name__ for kind in table.values()} == {
        name for name in package.__all__ if not name.isupper()
    }
    assert all(getattr(package, kind.__name__) is kind for kind in table.values())


def test_a_name_that_is_no_kind_is_no_attribute():
    with pytest.raises(AttributeError, match=r"'streambed.kinds.faults' has no attribute 'Klil'"):
        faults.Klil  # noqa: B018


def test_an_experiment_imports_only_the_kinds_that_it_declares():
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True
    )

    imported = done.stdout.split()
    assert "streambed.kinds.components.kafka.kafka" in imported
    assert "streambed.kinds.components.spark.job" not in imported
    assert "streambed.kinds.components.stores.postgresql" not in imported


@pytest.mark.parametrize(
    ("body", "error", "place"),
    [
        ({"kind": "kafka", "nodes": 3}, "tuple_type", ("components", "it", "nodes")),
        ({"kind": "kafak"}, "union_tag_invalid", ("components", "it")),
        ({"kind": ["kafka"]}, "union_tag_invalid", ("components", "it")),
        ({}, "union_tag_not_found", ("components", "it")),
        ("kafka", "model_attributes_type", ("components", "it")),
    ],
)
def test_a_wrong_part_of_an_experiment_is_reported_with_its_place(body, error, place):
    topology = Topology(links=[Link(ends=("edge", "core"))])

    with pytest.raises(ValidationError) as raised:
        Experiment(name="first", duration="1s", topology=topology, components={"it": body})

    (wrong,) = raised.value.errors()
    assert (wrong["type"], wrong["loc"]) == (error, place)
