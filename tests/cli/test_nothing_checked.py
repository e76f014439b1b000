"""An experiment without checks has no answer: commands say so, and end with status 0."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from streambed.cli.app import app
from streambed.record.history import EXIT_STATUS, Verdict, worst
from tests.support.fake_launcher import CHECKED, SMALL, install, write_study


def streambed(*words: str | Path) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture
def unchecked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    install(monkeypatch)
    (tmp_path / "small.yaml").write_text(SMALL)
    return tmp_path


def verdict(answer):
    return Verdict(check="no_loss", answer=answer, says="")


def test_no_verdicts_have_no_answer():
    assert worst([]) is None
    assert EXIT_STATUS[worst([])] == 0


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        (["holds"], "holds"),
        (["holds", "unknown"], "unknown"),
        (["unknown", "fails", "holds"], "fails"),
    ],
)
def test_the_worst_answer_counts(answers, expected):
    assert worst(map(verdict, answers)) == expected


def test_a_run_without_checks_answers_null(unchecked):
    done = streambed("run", unchecked / "small.yaml", "--into", unchecked, "--no-report", "--json")

    assert done.exit_code == 0
    assert json.loads(done.output)["answer"] is None


def test_a_run_without_checks_says_that_nothing_was_checked(unchecked):
    done = streambed("run", unchecked / "small.yaml", "--into", unchecked, "--no-report")

    assert done.exit_code == 0
    assert "nothing was checked: the experiment declares no checks" in done.output


def test_a_run_that_did_not_finish_is_unknown(tmp_path, monkeypatch):
    install(monkeypatch, "failed")
    (tmp_path / "small.yaml").write_text(SMALL)

    done = streambed("run", tmp_path / "small.yaml", "--into", tmp_path, "--no-report", "--json")

    assert (done.exit_code, json.loads(done.output)["answer"]) == (3, "unknown")


def test_a_run_with_checks_does_not_say_that_nothing_was_checked(unchecked):
    (unchecked / "small.yaml").write_text(SMALL + CHECKED)

    done = streambed("run", unchecked / "small.yaml", "--into", unchecked, "--no-report")

    assert "nothing was checked" not in done.output
    assert done.exit_code == 2


def test_judging_it_again_says_the_same(unchecked):
    streambed("run", unchecked / "small.yaml", "--into", unchecked, "--no-report", "--json")

    done = streambed("check", "small", "--into", unchecked)

    assert done.exit_code == 0
    assert "nothing was checked" in done.output


def test_a_study_without_checks_answers_null(unchecked):
    file = write_study(unchecked)

    as_json = streambed("study", file, "--into", unchecked, "--json")
    as_text = streambed("study", file, "--into", unchecked)

    assert (as_json.exit_code, json.loads(as_json.output)["answer"]) == (0, None)
    assert (as_text.exit_code, "nothing was checked" in as_text.output) == (0, True)
