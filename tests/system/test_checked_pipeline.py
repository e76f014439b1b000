"""Checks from end to end, on a pipeline into a store whose Spark driver is killed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from streambed import Run
from streambed.record.history import Verdict
from tests.support.running import streambed

pytestmark = [
    pytest.mark.system,
    pytest.mark.together(80),
    pytest.mark.usefixtures("store_servers"),
]
HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("checked")
    for name in ("checked_pipeline.yaml", "write_words.py", "truth.py"):
        shutil.copy(HERE / name, folder / name)
    done = streambed("run", "checked_pipeline.yaml", "--no-report", cwd=folder)
    assert (folder / "runs" / "checked-pipeline" / "latest").exists(), done.stdout + done.stderr
    return Run(folder / "runs" / "checked-pipeline" / "latest")


@pytest.fixture(scope="module")
def verdicts(run: Run) -> list[Verdict]:
    return run.verdicts()


def of(verdicts: list[Verdict], check: str, about: str) -> Verdict:
    (verdict,) = [one for one in verdicts if (one.check, one.about) == (check, about)]
    return verdict


def test_no_check_finds_a_fault_in_a_pipeline_that_has_none(verdicts: list[Verdict]) -> None:
    assert {f"{one.check}:{one.about}": one.says for one in verdicts if one.fails} == {}


@pytest.mark.parametrize(
    ("check", "about"),
    [
        ("exactly_once", "words:reader"),
        ("ordered", "words:reader"),
        ("at_least_once", "words:writer"),
        ("exactly_once", "words:archive"),
        ("at_least_once", "words:archive"),
        ("available", "words"),
        ("happens", "restart:kill"),
        ("happens", "batch:load"),
    ],
)
def test_what_does_not_depend_on_timing_holds(
    verdicts: list[Verdict], check: str, about: str
) -> None:
    verdict = of(verdicts, check, about)

    assert verdict.holds, verdict.says


def test_the_store_equals_sql_and_a_batch_job_over_the_log(verdicts: list[Verdict]) -> None:
    answers = [(one.answer, one.says) for one in verdicts if one.check == "equals"]

    assert answers == [
        ("holds", "2 rows of archive equal the answer of the log"),
        ("holds", "2400 rows of archive equal the answer of the log"),
    ]


def test_every_record_was_counted(verdicts: list[Verdict]) -> None:
    evidence = of(verdicts, "exactly_once", "words:archive").evidence

    assert evidence["records"] == evidence["outputs"] == 2400


def test_the_probe_read_the_store_under_load(run: Run, verdicts: list[Verdict]) -> None:
    assert of(verdicts, "atomic", "writer:archive").evidence["reads"] > 100


def test_judging_again_gives_the_same(run: Run, verdicts: list[Verdict]) -> None:
    again = run.judge().verdicts

    assert [(one.check, one.answer, one.says) for one in again] == [
        (one.check, one.answer, one.says) for one in verdicts
    ]
