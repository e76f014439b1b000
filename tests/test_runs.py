import json

import pytest

from streambed.errors import UsageError
from streambed.record.status import conclude
from streambed.results import runs
from tests.support.made_runs import NO_LOSS, make_run


def test_a_run_is_found_by_latest_name_time_and_folder(tmp_path):
    make_run(tmp_path, "words", "20260101-000000")
    newest = make_run(tmp_path, "words", "20260102-000000")

    for named in (
        "latest",
        "words",
        "words/latest",
        "20260102-000000",
        "words/20260102-000000",
        str(newest.directory),
    ):
        assert runs.find(named, tmp_path).directory == newest.directory


def test_a_folder_may_be_given_as_text(tmp_path):
    made = make_run(tmp_path, "poem", "20260101-000000")

    assert runs.Run(str(made.directory)).state == made.state == "finished"


def test_a_misspelt_run_gets_a_suggestion(tmp_path):
    make_run(tmp_path, "words", "20260101-000000")

    with pytest.raises(UsageError, match=r"No run called 'wrods' in .*Did you mean 'words'"):
        runs.find("wrods", tmp_path)


def test_a_run_whose_process_is_gone_is_broken(tmp_path):
    run = make_run(tmp_path, "words", "20260101-000000", state="running")
    assert run.state == "running"
    status = json.loads((run.directory / "status.json").read_text())

    (run.directory / "status.json").write_text(
        json.dumps({**status, "started": status["started"] - 1})
    )

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


def test_removing_an_older_run_leaves_the_latest(tmp_path):
    older = make_run(tmp_path, "words", "20260101-000000")
    newest = make_run(tmp_path, "words", "20260102-000000")

    runs.remove(older)

    assert runs.find("latest", tmp_path).directory == newest.directory


def test_removing_a_run_leaves_alone_a_study_of_the_same_name(tmp_path):
    run = make_run(tmp_path, "words", "20260101-000000")
    (tmp_path / "words" / "study.json").write_text("{}")
    (tmp_path / "words" / "trials").mkdir()

    runs.remove(run)

    assert {path.name for path in (tmp_path / "words").iterdir()} == {"study.json", "trials"}


def test_a_run_that_is_running_is_not_removed(tmp_path):
    with pytest.raises(UsageError, match="still running"):
        runs.remove(make_run(tmp_path, "words", "20260101-000000", state="running"))


LATENCIES = [{"kind": "latency", "of": of, "max": "1s"} for of in ("reader", "archive", "reader")]


def test_a_verdict_is_found_by_its_kind_or_by_what_it_is_about(tmp_path):
    run = make_run(tmp_path, "words", "20260101-000000", checks=[NO_LOSS, *LATENCIES])

    assert list(run.named_verdicts()) == [
        "no_loss:lines",
        "latency:reader",
        "latency:archive",
        "latency:reader#2",
    ]
    assert run.verdict("no_loss") == run.verdict("no_loss:lines")
    assert run.verdict("latency:archive").check == "latency"


def test_a_missing_or_ambiguous_verdict_is_reported_with_what_exists(tmp_path):
    run = make_run(tmp_path, "words", "20260101-000000", checks=[NO_LOSS, *LATENCIES])

    with pytest.raises(
        UsageError,
        match=r"there are 3 verdicts on latency: "
        r"ask for one of latency:reader, latency:archive, latency:reader#2",
    ):
        run.verdict("latency")
    with pytest.raises(UsageError, match=r"there is no verdict 'no_los'\. Did you mean"):
        run.verdict("no_los")
