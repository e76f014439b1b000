"""Every declaration and every study that we ship can be planned."""

from __future__ import annotations

from pathlib import Path

import pytest

from streambed import artifacts
from streambed.declare import reading
from streambed.declare.reading import Declared
from streambed.declare.yaml import study_file
from streambed.declare.yaml.document import document_at
from streambed.plan import Plan
from streambed.planner.planner import plan_for
from tests.support.roomy_machine import MACHINE

ROOT = Path(__file__).parents[1]
STREAM2GYM = ROOT / "examples" / "stream2gym"


def shipped() -> list[Path]:
    """The YAML files of examples/ and studies/; those below stream2gym are parts of its GraphML
    file.
    """
    files = [path for folder in ("examples", "studies") for path in (ROOT / folder).rglob("*.yaml")]
    return sorted(path for path in files if not path.is_relative_to(STREAM2GYM))


def is_study(path: Path) -> bool:
    return "vary" in document_at(path, "a declaration").content


STUDIES = [path for path in shipped() if is_study(path)]
EXPERIMENTS = [*(path for path in shipped() if not is_study(path)), STREAM2GYM / "input.graphml"]


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.fixture(autouse=True)
def _nothing_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    for command in ("cassandra_command", "kafka_command", "spark_command"):
        monkeypatch.setattr(artifacts, command, lambda *_, **__: ["java"])
    monkeypatch.setattr(artifacts, "checkpoint_path", lambda *_: Path("checkpoint"))
    monkeypatch.setattr(artifacts, "jars", lambda *_: [])


def planned(declared: Declared) -> Plan:
    return plan_for(declared.experiment, MACHINE, base=declared.base, directory=Path("runs/1"))


@pytest.mark.parametrize("path", EXPERIMENTS, ids=name_of)
def test_a_declaration_that_we_ship_can_be_planned(path):
    assert planned(reading.read(path)).processes


@pytest.mark.parametrize("path", STUDIES, ids=name_of)
def test_every_trial_of_a_study_that_we_ship_can_be_planned(path):
    study = study_file.read(path)

    assert study.trials
    assert all(planned(point).processes for point in study.points)


def test_both_examples_and_studies_are_among_them():
    names = {name_of(path) for path in (*EXPERIMENTS, *STUDIES)}

    assert {
        "examples/word_count/experiment.yaml",
        "studies/delay_sweep/experiment.yaml",
        "studies/raptor/study.yaml",
    } <= names
