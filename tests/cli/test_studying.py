"""The commands study and compare, with a launcher that only pretends."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from streambed.cli.app import app
from streambed.errors import UsageError
from tests.support import synthetic
from tests.support.fake_launcher import CHECKED, SMALL, STUDY, install, write_study


def streambed(*words: str | Path) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


def test_a_study_says_each_trial_and_ends_with_its_table(tmp_path, monkeypatch):
    install(monkeypatch)

    result = streambed("study", write_study(tmp_path), "--into", tmp_path)

    assert result.exit_code == 0, result.output
    assert "delays: 2 points, 4 trials of small.yaml" in result.output
    assert "4/4  topology.links.0.delay=" in result.output
    assert "95 % interval" in result.output
    assert (tmp_path / "delays" / "study.html").exists()


def test_a_study_as_json_is_one_object(tmp_path, monkeypatch):
    install(monkeypatch, "failed")

    report = json.loads(
        streambed("study", write_study(tmp_path), "--into", tmp_path, "--json").output
    )

    assert (report["trials"], report["finished"], len(report["failures"])) == (4, 3, 1)
    assert report["summary"][0]["measure"] == "ready"


@pytest.mark.parametrize(
    ("states", "experiment", "status"),
    [
        (["failed"] * 4, SMALL, 3),
        (["failed"], SMALL, 0),
        (["interrupted"], SMALL, 3),
        ([], SMALL + CHECKED, 2),
    ],
)
def test_the_exit_status_is_3_only_if_nothing_finished_or_it_was_interrupted(
    tmp_path, monkeypatch, states, experiment, status
):
    install(monkeypatch, *states)

    assert (
        streambed("study", write_study(tmp_path, STUDY, experiment), "--into", tmp_path).exit_code
        == status
    )


def test_an_interrupted_study_says_how_to_resume(tmp_path, monkeypatch):
    install(monkeypatch, "finished", "interrupted")
    path = write_study(tmp_path)

    assert (
        f"interrupted after 1 of 4 trials. Resume with: streambed study {path}"
        in streambed("study", path, "--into", tmp_path).output
    )


def test_two_runs_are_compared_in_words_and_as_json(tmp_path):
    for name in ("one", "two"):
        synthetic.write_run(tmp_path / "words" / name, load_s=5)

    result = streambed("compare", "words/one", "words/two", "--into", tmp_path, "--no-page")
    report = json.loads(
        streambed(
            "compare", "words/one", "words/two", "--into", tmp_path, "--json", "--no-page"
        ).output
    )

    assert result.exit_code == 0, result.output
    assert "median latency of reader" in result.output
    assert report["declared"] == []
    assert {one["measure"] for one in report["measures"]} >= {
        "p99 latency of reader",
        "CPU of poet",
    }


DOUBTFUL = {
    "believable": False,
    "says": "links were 9 ms late",
    "spans": [],
    "within_ms": None,
    "within_share": None,
}


def test_trials_that_are_not_to_be_believed_are_named(tmp_path, monkeypatch):
    install(
        monkeypatch
    )  # What it runs calibrates no links, so that nobody can know how well they did.
    path = write_study(tmp_path)

    result = streambed("study", path, "--into", tmp_path)
    report = json.loads(streambed("study", path, "--into", tmp_path, "--json").output)

    assert (
        " ".join(result.output.split()).count("is doubtful: link fidelity unknown")
        == len(report["doubts"])
        == 4
    )
    page = (tmp_path / "delays" / "study.html").read_text()
    assert "Hollow points are doubtful: in 4 of 4 trials" in page
    assert page.count("<td>link fidelity unknown") == 4


def test_a_study_says_which_checks_do_not_hold_and_where(tmp_path, monkeypatch):
    install(monkeypatch)

    result = streambed("study", write_study(tmp_path, STUDY, SMALL + CHECKED), "--into", tmp_path)

    output = " ".join(result.output.split())
    assert "checks of 4 trials: UNKNOWN" in output
    assert "UNKNOWN in 4 of 4 trials: topology.links.0.delay=100ms, repetition" in output
    assert "and 1 more" in output


def test_a_compared_run_that_is_not_to_be_believed_is_marked(tmp_path):
    for name in ("one", "two"):
        synthetic.write_run(tmp_path / "words" / name, load_s=5)
    (tmp_path / "words" / "two" / "fidelity.json").write_text(json.dumps(DOUBTFUL))

    assert (
        streambed(
            "compare", "words/one", "words/two", "--into", tmp_path, "--no-page"
        ).output.count("fidelity DOUBTFUL in B: links were 9 ms late")
        == 1
    )


def test_a_missing_run_is_reported(tmp_path):
    result = streambed("compare", "one", "two", "--into", tmp_path)

    assert isinstance(result.exception, UsageError)
    assert "No run called 'one'" in str(result.exception)
