"""An experiment on clusters that exist already: what takes whose place, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from streambed.declare import reading
from streambed.declare.experiment import Experiment
from streambed.errors import UsageError
from streambed.plan import Machine, Plan
from streambed.planner.existing import (
    existing_address,
    is_outside,
    left_out,
    on_existing,
    refuse_what_needs_a_box,
)
from streambed.planner.planner import plan_for

FILE = """
version: 1
name: outside
duration: 5s
topology: {links: [{ends: [edge, broker], delay: 5ms}, {ends: [broker, m]}, {ends: [broker, w]}], \
cpu: {edge: 10%}}
components:
  kafka: {kind: kafka, nodes: [broker], topics: {lines: {}}}
  spark: {kind: spark_cluster, master: m, workers: [w]}
  poet: {kind: producer, node: edge, writes: lines}
  job: {kind: spark_job, node: edge, job: job.py, cluster: spark, args: ["{kafka.bootstrap}"]}
"""
MASTER = "spark://there:7077"


def declared(folder: Path, more: str = "") -> Experiment:
    (folder / "job.py").touch()
    (folder / "outside.yaml").write_text(FILE + more)
    return reading.read(folder / "outside.yaml").experiment


def test_clusters_that_exist_take_the_place_of_declared_ones(tmp_path: Path) -> None:
    changed = on_existing(declared(tmp_path), bootstrap="there:9092", spark_master=MASTER)

    assert list(changed.components) == ["kafka", "poet", "job"]
    assert changed.components["kafka"].answers(tmp_path)["bootstrap"] == "there:9092"
    assert changed.components["job"].cluster == MASTER
    assert is_outside(changed)
    refuse_what_needs_a_box(changed)


def test_an_experiment_as_declared_is_inside(tmp_path: Path) -> None:
    assert not is_outside(on_existing(declared(tmp_path)))


def test_the_note_tells_what_is_left_out(tmp_path: Path) -> None:
    says = left_out(declared(tmp_path))

    assert says.endswith(
        "every host is this machine; the 3 links are not emulated; CPU caps of its hosts are left "
        "out"
    )


@pytest.mark.parametrize(
    ("given", "more", "says"),
    [
        (
            {"bootstrap": "there:9092"},
            "",
            "components.spark: a spark_cluster needs emulated hosts, .* --spark-master",
        ),
        (
            {"spark_master": MASTER},
            "",
            "components.kafka: its brokers need emulated hosts, .* --bootstrap",
        ),
        (
            {"bootstrap": "there:9092", "spark_master": MASTER},
            "  db: {kind: redis, node: edge}\n",
            "components.db: a component of kind redis",
        ),
        (
            {"bootstrap": "there:9092", "spark_master": MASTER},
            "faults: [{kind: isolate, at: 1s, lasts: 1s, target: edge}]\n",
            r"faults.0: isolate needs the emulated network .* --set 'faults=\[\]'",
        ),
    ],
)
def test_what_needs_a_box_is_refused(
    tmp_path: Path, given: dict[str, str], more: str, says: str
) -> None:
    with pytest.raises(UsageError, match=says):
        refuse_what_needs_a_box(on_existing(declared(tmp_path, more), **given))


def test_a_killed_job_can_be_had_outside(tmp_path: Path) -> None:
    experiment = declared(tmp_path, "faults: [{kind: kill, at: 1s, lasts: 1s, target: job}]\n")

    refuse_what_needs_a_box(on_existing(experiment, bootstrap="there:9092", spark_master=MASTER))


def test_a_cluster_without_use_is_refused(tmp_path: Path) -> None:
    (tmp_path / "none.yaml").write_text(
        "version: 1\nname: none\nduration: 1s\ntopology: {hosts: [one]}\ncomponents: {}\n"
    )
    experiment = reading.read(tmp_path / "none.yaml").experiment

    with pytest.raises(
        UsageError, match="takes the place of one kafka component, but none declares 0"
    ):
        on_existing(experiment, bootstrap="there:9092")
    with pytest.raises(UsageError, match="is for Spark jobs"):
        on_existing(experiment, spark_master=MASTER)


OUTSIDE = "192.0.2.7"


def planned_outside(experiment: Experiment, base: Path) -> Plan:
    return plan_for(
        experiment,
        Machine(java_version=21, python="python", cpu_groups="groups"),
        base=base,
        directory=Path("runs/1"),
        own_address=OUTSIDE,
    )


def test_a_run_outside_has_all_its_hosts_at_the_address_of_this_machine(tmp_path: Path) -> None:
    experiment = on_existing(declared(tmp_path), bootstrap="there:9092", spark_master=MASTER)

    plan = planned_outside(experiment, tmp_path)

    assert existing_address(experiment) == MASTER
    assert set(plan.addresses().values()) == {OUTSIDE}
    assert plan.links == ()


def test_outside_a_box_sparks_page_is_not_on_all_addresses(tmp_path: Path) -> None:
    experiment = on_existing(declared(tmp_path), bootstrap="there:9092", spark_master=MASTER)

    plan = planned_outside(experiment, tmp_path)

    (job,) = [process for process in plan.processes if process.component == "job"]
    assert job.env["SPARK_LOCAL_IP"] == OUTSIDE
