"""A study and a test of a user's, on a real network; without Kafka, so that it is short."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from tests.support.fake_launcher import SMALL, STUDY, write_study
from tests.support.running import STREAMBED, end_now, phases, streambed, wait_for

pytestmark = [pytest.mark.system, pytest.mark.together(40)]
SHORT = STUDY.replace("repetitions: 2", "repetitions: 1") + "  used: {cpu: talker}\n"


def loading(folder: Path) -> list[Path]:
    """The trials whose load has begun."""
    return [
        path
        for path in folder.glob("trials/small/*")
        if not path.is_symlink() and "load" in phases(path)
    ]


def test_an_interrupted_study_cleans_up_and_resumes(tmp_path):
    path = write_study(tmp_path, SHORT)
    command = [*STREAMBED, "study", str(path), "--into", str(tmp_path / "runs")]
    folder = tmp_path / "runs" / "delays"
    first = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )
    try:
        wait_for(lambda: len(loading(folder)) == 2, 60, "the second trial")
        first.send_signal(signal.SIGINT)
        said, _ = first.communicate(timeout=60)
    finally:
        end_now(first)

    assert first.returncode == 3, said
    assert "interrupted after 1 of 2 trials" in said
    assert "Traceback" not in said
    (kept,) = [
        path for path in loading(folder) if '"finished"' in (path / "status.json").read_text()
    ]

    second = streambed("study", path, "--into", tmp_path / "runs", cwd=tmp_path)

    assert second.returncode == 0, second.stderr
    assert "2/2  topology.links.0.delay=" in second.stdout
    assert "1/2" not in second.stdout
    assert kept in loading(folder)
    trials = pl.read_parquet(folder / "trials.parquet")
    assert trials["state"].to_list() == ["finished"] * 4
    assert (trials.filter(measure="ready")["value"] > 0).all()
    # Measured, though it may be 0: a program that mostly sleeps uses less than the kernel counts.
    assert trials.filter(measure="used")["value"].null_count() == 0
    assert {path.name for path in folder.iterdir()} >= {
        "study.html",
        "figures",
        "summary.csv",
        "trials.csv",
    }


def test_a_test_of_a_user_runs_an_experiment(tmp_path):
    (tmp_path / "small.yaml").write_text(SMALL)
    (tmp_path / "test_it.py").write_text(
        'def test_it(streambed):\n    assert not streambed("small.yaml", set={"duration": '
        '"1s"}).verdicts()\n'
    )

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert done.returncode == 0, done.stdout
    assert (
        len(list(tmp_path.glob(".streambed/runs/small/*/status.json"))) == 2
    )  # The run, and the link `latest`.
