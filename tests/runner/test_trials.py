"""A study with a launcher that only pretends: what runs, what is kept, what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

import streambed
from streambed.declare.yaml import study_file
from streambed.errors import UsageError, WorldError
from streambed.results.studies import StudyResult
from streambed.runner.study import Progress, carry_out
from tests.support import fake_launcher
from tests.support.fake_launcher import CHECKED, SMALL, STUDY, install, write_study


def study(
    folder: Path,
    text: str = STUDY,
    *,
    experiment: str = SMALL,
    again: bool = False,
    repetitions: int | None = None,
) -> StudyResult:
    path = write_study(folder, text, experiment)
    return carry_out(study_file.read(path, repetitions), into=folder / "runs", again=again)


def test_every_trial_runs_once_and_gives_a_row_for_each_measure(tmp_path, monkeypatch):
    fake = install(monkeypatch)

    result = study(tmp_path)

    assert len(fake.launched) == 4
    trials = result.trials()
    assert trials["topology.links.0.delay"].to_list() == ["100ms", "100ms", "200ms", "200ms"]
    assert trials["repetition"].to_list() == [1, 2, 1, 2]
    assert trials["value"].round(1).to_list() == [0.1, 0.1, 0.2, 0.2]
    assert trials["unit"].unique().to_list() == ["s"]
    assert trials["state"].unique().to_list() == ["finished"]
    assert pl.read_csv(result.folder / "trials.csv").columns == trials.columns


def test_the_summary_has_a_row_for_each_point_with_its_interval(tmp_path, monkeypatch):
    install(monkeypatch)

    summary = study(tmp_path).summary()

    assert summary.select("topology.links.0.delay", "measure", "unit", "trials", "n").rows() == [
        ("100ms", "ready", "s", 2, 2),
        ("200ms", "ready", "s", 2, 2),
    ]
    assert (summary["low"] < summary["mean"]).all()
    assert summary["method"].unique().to_list() == ["Student t, 1 degree of freedom"]


def test_trials_are_runs_like_any_other(tmp_path, monkeypatch):
    install(monkeypatch)

    result = study(tmp_path)

    for trial in result.finished:
        assert result.run(trial).directory.is_relative_to(
            tmp_path / "runs" / "delays" / "trials" / "small"
        )
        assert result.run(trial).plan.seed == trial.seed


def test_a_second_call_runs_nothing_again(tmp_path, monkeypatch):
    install(monkeypatch)
    study(tmp_path)
    fake = install(monkeypatch)

    result = study(tmp_path)

    assert fake.launched == []
    assert len(result.finished) == 4


def test_more_repetitions_or_points_run_only_what_is_new(tmp_path, monkeypatch):
    install(monkeypatch)
    study(tmp_path)
    fake = install(monkeypatch)

    assert len(study(tmp_path, repetitions=3).finished) == 6
    assert len(fake.launched) == 2
    assert len(study(tmp_path, STUDY.replace("200ms", "200ms, 300ms")).finished) == 6
    assert len(fake.launched) == 4


def test_ctrl_c_ends_the_study_after_the_trial_and_the_next_call_resumes(tmp_path, monkeypatch):
    fake = install(monkeypatch, "finished", "interrupted")

    result = study(tmp_path)

    assert result.interrupted
    assert (len(fake.launched), len(result.finished)) == (2, 1)
    interrupted = Path(fake.launched[1].directory)
    fake = install(monkeypatch)
    result = study(tmp_path)
    assert (len(fake.launched), len(result.finished), result.interrupted) == (3, 4, False)
    assert not interrupted.exists()


@pytest.mark.parametrize("state", ["failed", "broken", "raises"])
def test_a_failed_trial_is_recorded_and_the_others_continue(tmp_path, monkeypatch, state):
    install(monkeypatch, "finished", state)

    result = study(tmp_path)

    assert len(result.finished) == 3
    (reason,) = result.failures.values()
    assert reason == ("the disk is full" if state == "raises" else f"it {state}")
    row = result.trials().filter(pl.col("value").is_null())
    assert row.select("state", "reason").rows() == [
        ("failed" if state == "raises" else state, reason)
    ]
    fake = install(monkeypatch)
    assert len(study(tmp_path).finished) == 4
    assert len(fake.launched) == 1


def test_a_study_that_was_killed_runs_the_trial_again_that_it_died_in(tmp_path, monkeypatch):
    install(monkeypatch)
    result = study(tmp_path)
    notes = json.loads((result.folder / "study.json").read_text())
    next(iter(notes["trials"].values()))["state"] = "running"
    (result.folder / "study.json").write_text(json.dumps(notes))
    fake = install(monkeypatch)

    assert len(study(tmp_path).finished) == 4
    assert len(fake.launched) == 1


def test_a_changed_experiment_is_refused_unless_the_study_starts_over(tmp_path, monkeypatch):
    install(monkeypatch)
    study(tmp_path)
    changed = SMALL.replace("duration: 2s", "duration: 3s")

    with pytest.raises(
        UsageError,
        match=r"duration was 2s, is 3s\. Start over with --again, or give the study another name",
    ):
        study(tmp_path, experiment=changed)
    fake = install(monkeypatch)
    assert len(study(tmp_path, experiment=changed, again=True).finished) == 4
    assert len(fake.launched) == 4


def test_a_changed_file_that_the_experiment_names_is_refused(tmp_path, monkeypatch):
    install(monkeypatch)
    experiment = SMALL.replace('[sleep, "1000"]', "[sh, script.sh]")
    (tmp_path / "script.sh").write_text("sleep 1000")
    study(tmp_path, experiment=experiment)
    (tmp_path / "script.sh").write_text("sleep 2000")

    with pytest.raises(UsageError, match=r"script\.sh has changed"):
        study(tmp_path, experiment=experiment)


def test_measures_can_be_changed_without_running_again(tmp_path, monkeypatch):
    install(monkeypatch)
    study(tmp_path)
    fake = install(monkeypatch)

    result = study(tmp_path, STUDY + "  used: {cpu: talker}\n")

    assert fake.launched == []
    missing = result.trials().filter(pl.col("measure") == "used")
    assert missing["reason"].unique().to_list() == ["talker ran under load for less than 2 s"]
    assert result.summary().filter(pl.col("measure") == "used")["method"].unique().to_list() == [
        "none: no value"
    ]


def test_starting_over_leaves_alone_what_is_not_the_studys(tmp_path, monkeypatch):
    install(monkeypatch)
    folder = study(tmp_path).folder
    (folder / "20260101-000000").mkdir()

    study(tmp_path, again=True)

    assert (folder / "20260101-000000").is_dir()


def test_two_at_once_are_refused(tmp_path, monkeypatch):
    install(monkeypatch)

    def second(progress: Progress) -> None:
        with pytest.raises(UsageError, match="is being worked on by another"):
            carry_out(declared, into=tmp_path / "runs")

    declared = study_file.read(write_study(tmp_path))
    carry_out(declared, into=tmp_path / "runs", on_progress=second)


def test_the_time_left_is_that_of_the_trials_to_come(tmp_path, monkeypatch):
    install(monkeypatch)
    seen: list[Progress] = []

    carry_out(
        study_file.read(write_study(tmp_path)), into=tmp_path / "runs", on_progress=seen.append
    )

    assert seen[0].left_s == pytest.approx(
        4 * (2 + 15)
    )  # Nothing is known yet: the load and a guess.
    ends = [progress for progress in seen if progress.ended]
    assert [progress.done for progress in ends] == [1, 2, 3, 4]
    assert [round(progress.left_s) for progress in ends] == [
        0,
        0,
        0,
        0,
    ]  # These trials take no time at all.


def test_verdicts_of_all_trials_are_kept(tmp_path, monkeypatch):
    install(monkeypatch)

    result = study(tmp_path, experiment=SMALL + CHECKED)

    assert [verdict.answer for verdict in result.verdicts()] == ["unknown"] * 4
    assert result.trials()["verdicts"].unique().to_list() == ["no_loss unknown"]


def test_a_study_without_anything_varied_repeats_its_experiment(tmp_path, monkeypatch):
    fake = install(monkeypatch)

    result = study(
        tmp_path,
        fake_launcher.STUDY.replace("vary:\n  topology.links.0.delay: [100ms, 200ms]\n", ""),
    )

    assert len(fake.launched) == 2
    assert result.summary().select("measure", "n").rows() == [("ready", 2)]


def test_python_gets_frames_and_the_page(tmp_path, monkeypatch):
    install(monkeypatch)

    result = streambed.study(write_study(tmp_path), into=tmp_path)

    assert (result.trials().height, result.summary().height) == (4, 2)
    assert repr(result).endswith("4 of 4 trials finished)")
    assert (tmp_path / "delays" / "study.html").exists()


def test_a_study_from_python_raises_if_no_trial_finished(tmp_path, monkeypatch):
    install(monkeypatch, *["raises"] * 4)

    with pytest.raises(WorldError, match="no trial finished: the disk is full"):
        streambed.study(write_study(tmp_path), into=tmp_path)
