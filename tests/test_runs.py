import json
import os

import pytest

from streambed import plan, runs
from streambed.errors import UsageError
from streambed.plan import Machine, Plan
from streambed.status import begin, conclude


def make_run(into, name, time, state="finished"):
    directory = into / name / time
    directory.mkdir(parents=True)
    (directory / "history").mkdir()
    nothing = Plan(
        name=name,
        seed=1,
        duration_ns=1,
        ready_limit_ns=1,
        drain_limit_ns=1,
        directory=str(directory),
        machine=Machine(),
        nodes=(),
        links=(),
        processes=(),
        declaration={"name": name, "components": {}, "checks": [{"kind": "no_loss", "topic": "lines"}]},
    )
    plan.write(nothing, directory / "plan.json")
    begin(directory, os.getpid())
    if state != "running":
        conclude(directory, state, "")
    (directory.parent / "latest").unlink(missing_ok=True)
    (directory.parent / "latest").symlink_to(time)
    return runs.Run(directory)


def test_a_run_is_found_by_latest_name_time_and_folder(tmp_path):
    make_run(tmp_path, "words", "20260101-000000")
    newest = make_run(tmp_path, "words", "20260102-000000")

    for named in ("latest", "words", "words/latest", "20260102-000000", "words/20260102-000000", str(newest.directory)):
        assert runs.find(named, tmp_path).directory == newest.directory


def test_a_misspelt_run_gets_a_suggestion(tmp_path):
    make_run(tmp_path, "words", "20260101-000000")

    with pytest.raises(UsageError, match=r"there is no run 'wrods' in .*Did you mean 'words'"):
        runs.find("wrods", tmp_path)


def test_a_run_whose_process_is_gone_is_broken(tmp_path):
    run = make_run(tmp_path, "words", "20260101-000000", state="running")
    assert run.state == "running"
    status = json.loads((run.directory / "status.json").read_text())

    (run.directory / "status.json").write_text(json.dumps({**status, "started": status["started"] - 1}))

    assert run.state == "broken"


def test_the_first_conclusion_is_believed(tmp_path):
    run = make_run(tmp_path, "words", "20260101-000000", state="failed")

    conclude(run.directory, "broken", "later")

    assert (run.state, run.reason) == ("failed", "")


def test_a_run_without_records_is_unknown_never_holds(tmp_path):
    (verdict,) = make_run(tmp_path, "words", "20260101-000000").check()

    assert verdict.answer == "unknown"


def test_removing_the_newest_run_makes_the_one_before_it_the_latest(tmp_path):
    older = make_run(tmp_path, "words", "20260101-000000")
    newest = make_run(tmp_path, "words", "20260102-000000")

    runs.remove(newest)

    assert (tmp_path / "words" / "latest").resolve() == older.directory
    runs.remove(older)
    assert not (tmp_path / "words").exists()


def test_a_run_that_is_running_is_not_removed(tmp_path):
    with pytest.raises(UsageError, match="still running"):
        runs.remove(make_run(tmp_path, "words", "20260101-000000", state="running"))
