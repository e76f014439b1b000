"""A component with a mistake hides no problem of the others."""

from __future__ import annotations

from pathlib import Path

import pytest

from streambed.declare.yaml.messages import WORD_RULE
from streambed.declare.yaml.reader import read
from streambed.errors import UNKNOWN_KEY, UNKNOWN_TOPIC, DeclarationError
from tests.support.declare.samples import spoilt, write


def test_a_component_that_cannot_be_understood_does_not_hide_what_is_wrong_with_the_others(
    tmp_path,
):
    (tmp_path / "experiment.yaml").write_text(
        """
version: 1
name: several
duration: 10s
topology: {links: [{ends: [edge, broker], delay: 20}]}
components:
  kafka: {kind: kafka, nodes: [broker], topics: {lines: {}}}
  poet: {kind: producer, node: egde, writes: lines}
  reader: {kind: consmer, node: edge, reads: lines}
  archive: {kind: consumer, node: edge}
checks: [{kind: latency, of: reader, p99: 1s}]
"""
    )

    with pytest.raises(DeclarationError) as told:
        read(tmp_path / "experiment.yaml")

    assert [(problem.key, problem.line) for problem in told.value.problems] == [
        ("topology.links.0.delay", 5),
        ("components.poet.node", 8),
        ("components.reader.kind", 9),
        ("components.archive.reads", 10),
    ]


def problems_with(tmp_path: Path, *components: str) -> list[str]:
    lines = [
        "version: 1",
        "name: several",
        "duration: 10s",
        "topology: {links: [{ends: [edge, broker]}]}",
        "components:",
    ]
    (tmp_path / "experiment.yaml").write_text(
        "\n".join([*lines, *(f"  {component}" for component in components)])
    )
    with pytest.raises(DeclarationError) as told:
        read(tmp_path / "experiment.yaml")
    return [f"{problem.key}: {problem.says}" for problem in told.value.problems]


KAFKA = "kafka: {kind: kafka, nodes: [broker], topics: {lines: {}}}"


@pytest.mark.parametrize("name", ["e", "zz"])
def test_the_name_of_a_broken_component_hides_no_problem_of_another(
    tmp_path: Path, name: str
) -> None:
    reader = "reader: {kind: consumer, node: egde, reads: lines}"

    problems = problems_with(tmp_path, KAFKA, f"{name}: {{kind: producer, node: edge}}", reader)

    assert problems == [
        f"components.{name}.writes: is missing: a producer needs 'writes'",
        "components.reader.node: there is no node 'egde'. Did you mean 'edge'?",
    ]


@pytest.mark.parametrize(
    ("broken", "other"),
    [
        (
            "it: {kind: redis, setup: 7}",
            "a: {kind: sink, node: edge, reads: lines, store: it, table: lines}",
        ),
        (
            "it: {kind: spark_cluster}",
            "a: {kind: spark_job, node: edge, job: experiment.yaml, cluster: it}",
        ),
        (
            "it: {kind: hdfs}",
            "a: {kind: spark_job, node: edge, job: experiment.yaml, checkpoint: it, event_log: it}",
        ),
        ("it: {kind: consumer}", "a: {kind: command, node: edge, argv: [echo, '{it.group}']}"),
        (
            "it: {kind: consumer}",
            "a: {kind: consumer, reads: lines, place: {by: nearest, to: [it]}}",
        ),
    ],
)
def test_who_looks_for_a_broken_component_in_vain_is_no_problem(
    tmp_path: Path, broken: str, other: str
) -> None:
    problems = problems_with(tmp_path, KAFKA, broken, other)

    assert problems and all(problem.startswith("components.it.") for problem in problems)


def test_topics_that_a_broken_kafka_may_declare_are_not_missed(tmp_path: Path) -> None:
    bus = "bus: {kind: kafka, nodes: [broker], topcis: {lines: {}}}"

    problems = problems_with(tmp_path, bus, "reader: {kind: consumer, node: egde, reads: lines}")

    assert problems == [
        "components.bus.topcis: unknown key 'topcis'. Did you mean 'topics'?",
        "components.reader.node: there is no node 'egde'. Did you mean 'edge'?",
    ]


def test_of_several_misspelt_keys_each_is_reported_once(tmp_path: Path) -> None:
    job = "job: {kind: sink, node: edge, raeds: lines, stoer: kafka, tabel: lines}"

    assert problems_with(tmp_path, KAFKA, job) == [
        "components.job.raeds: unknown key 'raeds'. Did you mean 'reads'?",
        "components.job.stoer: unknown key 'stoer'. Did you mean 'store'?",
        "components.job.tabel: unknown key 'tabel'. Did you mean 'table'?",
    ]


def test_a_problem_says_what_it_is_and_about_which_components(tmp_path: Path) -> None:
    text = (
        spoilt("{kafka.bootstrap}", "{kafak.bootstrap}")
        .replace("rate: 500/s", "rtae: 500/s")
        .replace("reads: counts", "reads: cuonts")
    )

    with pytest.raises(DeclarationError) as told:
        read(write(tmp_path, text))

    codes = {problem.key: problem.code for problem in told.value.problems}
    about = {problem.key: set(problem.about) for problem in told.value.problems}
    assert codes["components.poet.rtae"] == UNKNOWN_KEY
    assert codes["components.reader.reads"] == UNKNOWN_TOPIC
    assert about["components.counter.args.0"] == {"kafak"}


def test_the_name_of_a_table_has_its_own_rule(tmp_path: Path) -> None:
    sink = "a: {kind: sink, node: edge, reads: lines, store: it, table: 'a-b'}"

    problems = problems_with(tmp_path, KAFKA, "it: {kind: redis, node: broker}", sink)

    assert f"components.a.table: 'a-b' cannot be a name: {WORD_RULE}" in problems
