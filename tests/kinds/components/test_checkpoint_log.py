"""The log of batches in a checkpoint of Spark."""

from __future__ import annotations

from pathlib import Path

import pytest

from streambed.kinds.components.spark import checkpoint
from streambed.kinds.components.spark.checkpoint import CheckpointLog
from streambed.record.events import BatchCommitted, BatchPlanned

OFFSETS = 'v1\n{"batchWatermarkMs":0}\n{"lines":{"0":7,"1":9}}'


@pytest.fixture(autouse=True)
def looks_each_time(monkeypatch):
    monkeypatch.setattr(checkpoint, "QUERIES_NS", 0)


def write(folder: Path, kind: str, number: int, text: str = "v1\n{}") -> None:
    (folder / kind).mkdir(parents=True, exist_ok=True)
    (folder / kind / str(number)).write_text(text)


def made(tmp_path: Path) -> tuple[Path, CheckpointLog]:
    write(tmp_path, "offsets", 0, OFFSETS)
    (tmp_path / "metadata").write_text('{"id":"abc"}')
    return tmp_path, CheckpointLog("shout", tmp_path)


def test_a_batch_is_planned_and_then_committed(tmp_path):
    folder, log = made(tmp_path)

    (planned,) = log.steps()
    write(folder, "commits", 0)
    (committed,) = log.steps()

    assert isinstance(planned, BatchPlanned) and isinstance(committed, BatchCommitted)
    assert (planned.query_id, planned.batch, planned.past) == ("abc", 0, {"lines": {0: 7, 1: 9}})
    assert (committed.query_id, committed.batch) == ("abc", 0)
    assert log.steps() == []


def test_each_query_of_a_job_has_a_folder(tmp_path):
    for name in ("one", "two"):
        write(tmp_path / name, "offsets", 0, OFFSETS)
        (tmp_path / name / "metadata").write_text(f'{{"id":"{name}"}}')

    steps = CheckpointLog("shout", tmp_path).steps()

    assert {step.query_id for step in steps} == {"one", "two"}


def test_a_commit_that_was_taken_back_is_seen_again(tmp_path):
    folder, log = made(tmp_path)
    write(folder, "commits", 0)
    log.steps()

    (folder / "commits" / "0").unlink()
    log.steps()
    write(folder, "commits", 0)

    assert [type(step) for step in log.steps()] == [BatchCommitted]


def test_entries_that_spark_deleted_are_passed_over(tmp_path):
    folder, log = made(tmp_path)
    (folder / "offsets" / "0").unlink()
    write(folder, "offsets", 120, OFFSETS)

    assert [step.batch for step in log.steps()] == [120]


def test_a_new_checkpoint_in_the_same_folder_begins_again(tmp_path):
    folder, log = made(tmp_path)
    log.steps()
    (folder / "metadata").write_text('{"id":"other"}')

    assert [step.query_id for step in log.steps()] == ["other"]
