"""list, logs, check, report: what they print, and what they say when something is wrong."""

from __future__ import annotations

import errno
import json
import os
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import Result
from typer.testing import CliRunner

from streambed import plan
from streambed.cli import options
from streambed.cli.app import app
from streambed.cli.query import with_plain_numbers
from streambed.cli.runs import ago
from streambed.errors import FormatError, UsageError
from streambed.record.fidelity import Fidelity, Span
from streambed.record.history import Verdict
from streambed.record.status import conclude
from streambed.results import runs
from streambed.stores.store import Address
from tests.support.made_runs import NO_LOSS, make_run

STAMP = "20260101-000000"


def streambed(*words: str | Path) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture
def run(tmp_path: Path) -> runs.Run:
    made = make_run(tmp_path, "words", STAMP)
    (made.directory / "logs").mkdir()
    for name in ("kafka.broker", "poet"):
        (made.directory / "logs" / f"{name}.log").write_text(f"{name} one\n{name} two\n")
    events = [{"time": 10**9 * time, "event": "phase", "phase": "build"} for time in (5, 17)]
    lines = "".join(json.dumps(event) + "\n" for event in events)
    (made.directory / "history" / "events.jsonl").write_text(lines)
    made.check()
    return made


def test_a_list_says_when_how_long_and_how_it_ended(run, tmp_path):
    headings, line = streambed("list", "--into", tmp_path).output.splitlines()

    assert headings.split() == ["run", "when", "took", "state", "checks", "fidelity", "size"]
    assert line.startswith(f"words/{STAMP}  ")
    assert " 12 s  finished  unknown " in line
    assert "ago" in line
    assert line.endswith(" MB")


def test_a_list_for_programs_is_json(run, tmp_path):
    (row,) = json.loads(streambed("list", "--json", "--into", tmp_path).output)

    assert row["run"] == str(run.directory)
    assert (row["name"], row["began"]) == ("words", "2026-01-01T00:00:00")
    assert (row["state"], row["took_s"], row["answer"]) == ("finished", 12.0, "unknown")
    assert row["verdicts"] == {"no_loss:lines": "unknown"}
    assert row["size_bytes"] == run.size_bytes > 100


def test_a_list_of_nothing_is_an_empty_array_or_a_hint(tmp_path):
    assert json.loads(streambed("list", "--json", "--into", tmp_path).output) == []
    assert "Make one: streambed run FILE" in streambed("list", "--into", tmp_path).output


@pytest.mark.parametrize(
    ("seconds", "says"),
    [(3, "just now"), (130, "2 min ago"), (7300, "2 h ago"), (86400 * 3, "3 days ago")],
)
def test_an_age_is_written_as_people_say_it(seconds, says):
    assert ago(timedelta(seconds=seconds)) == says


def test_a_missing_run_is_reported_in_plain_words(tmp_path):
    empty = streambed("check", "nope", "--into", tmp_path)
    make_run(tmp_path, "words", STAMP)
    misspelt = streambed("check", "wrods", "--into", tmp_path)

    assert str(empty.exception) == f"No run called 'nope': {tmp_path}/ is empty."
    assert str(misspelt.exception).endswith("Did you mean 'words'?")


def test_logs_without_a_component_list_them(run, tmp_path):
    done = streambed("logs", "words", "--into", tmp_path)

    assert done.exit_code == 0
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["log", "kafka.broker", "poet"]


def test_a_misspelt_component_gets_a_suggestion(run, tmp_path):
    done = streambed("logs", "words", "kafak", "--into", tmp_path)

    assert "there is no log of 'kafak'" in str(done.exception)
    assert "Did you mean 'kafka'?" in str(done.exception)


def test_the_last_lines_of_a_log(run, tmp_path):
    assert streambed("logs", "words", "kafka", "--into", tmp_path).output == (
        "kafka.broker one\nkafka.broker two\n"
    )
    last = streambed("logs", "words", "poet", "--tail", "1", "--into", tmp_path)
    assert last.output == "poet two\n"


def test_following_a_log_ends_with_the_run(tmp_path, monkeypatch):
    run = make_run(tmp_path, "words", STAMP, state="running")
    (run.directory / "logs").mkdir()
    log = run.directory / "logs" / "poet.log"
    log.write_text("one\n")
    looks = iter(["two\n", "three\nhal", "f\n"])

    def next_step(_: float) -> None:
        with log.open("a") as file:
            file.write(next(looks, ""))
        if log.read_text().endswith("half\n"):
            conclude(run.directory, "finished", "")

    monkeypatch.setattr("streambed.record.time.sleep", next_step)
    done = streambed("logs", "words", "poet", "-f", "--into", tmp_path)

    assert done.output == "one\ntwo\nthree\nhalf\n"


def test_a_run_that_is_running_is_not_checked(tmp_path):
    run = make_run(tmp_path, "words", STAMP, state="running")

    done = streambed("check", "latest", "--into", tmp_path)

    assert "is still running: check it when it has ended" in str(done.exception)
    assert not (run.directory / "verdicts.json").exists()


def full_disk(*_: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_verdict_that_cannot_be_written_is_still_shown(tmp_path, monkeypatch):
    make_run(tmp_path, "words", STAMP)
    monkeypatch.setattr(runs, "write_whole", full_disk)

    done = streambed("check", "latest", "--into", tmp_path)

    assert done.exit_code == 2
    assert "no_loss    UNKNOWN" in done.output
    assert "the verdicts could not be kept in" in done.output
    assert "No space left on device" in done.output


def test_a_report_that_cannot_be_written_is_reported_with_the_reason(tmp_path, monkeypatch):
    make_run(tmp_path, "words", STAMP)
    monkeypatch.setattr("streambed.reports.page.write", full_disk)

    done = streambed("report", "latest", "--into", tmp_path)

    assert "cannot be written: No space left on device" in str(done.exception)


def test_a_report_is_opened_in_a_browser_or_its_path_is_printed(run, tmp_path, monkeypatch):
    opened: list[str] = []
    monkeypatch.setattr(options.webbrowser, "open", lambda uri: opened.append(uri) or True)
    monkeypatch.setattr("streambed.reports.page.write", lambda directory: directory / "report.html")
    for name in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)

    without = streambed("report", "latest", "--open", "--into", tmp_path)
    monkeypatch.setenv("DISPLAY", ":0")
    streambed("report", "latest", "--open", "--into", tmp_path)

    assert f"There is no browser here. The report is {run.report}" in without.output
    assert opened == [run.report.as_uri()]


def test_numbers_of_a_store_are_numbers_in_json():
    rows = pl.DataFrame(
        {"n": ["95"], "mean": ["1.5"]},
        schema={"n": pl.String, "mean": pl.String},
    ).with_columns(
        n=pl.col("n").cast(pl.Decimal(38, 0)), mean=pl.col("mean").cast(pl.Decimal(9, 2))
    )

    assert json.loads(with_plain_numbers(rows).write_json()) == [{"n": 95, "mean": 1.5}]


def test_the_failed_checks_are_named(run, tmp_path):
    verdicts = json.loads((run.directory / "verdicts.json").read_text())
    verdicts[0]["answer"] = "fails"
    (run.directory / "verdicts.json").write_text(json.dumps(verdicts))

    assert "fails: no_loss:lines" in streambed("list", "--into", tmp_path).output
    assert NO_LOSS["topic"] == "lines"


@pytest.fixture
def with_stores(run: runs.Run) -> runs.Run:
    stores = {
        "db": Address(engine="postgresql", hosts=("10.0.0.1",), port=5432),
        "file": Address(engine="sqlite", path="/data/file"),
    }
    plan.write(replace(run.plan, stores=stores), run.directory / "plan.json")
    return run


def test_a_query_without_a_store_lists_the_stores_of_the_run(with_stores, tmp_path):
    asked = streambed("query", "words", "--into", tmp_path)

    assert isinstance(asked.exception, UsageError)
    assert str(asked.exception) == (
        "the stores of 'words': db (postgresql), file (sqlite). "
        "Query one: streambed query words STORE TEXT"
    )


def test_a_query_without_a_text_says_what_is_missing(with_stores, tmp_path):
    asked = streambed("query", "words", "db", "--into", tmp_path)
    misspelt = streambed("query", "words", "fiel", "--into", tmp_path)

    assert "streambed query words db TEXT" in str(asked.exception)
    assert "Did you mean 'file'?" in str(misspelt.exception)


def test_a_query_of_a_run_without_stores_says_so(run, tmp_path):
    asked = streambed("query", "words", "--into", tmp_path)

    assert str(asked.exception) == "the run 'words' has no store that can be queried"


@pytest.mark.parametrize("name", ["plan.json", "verdicts.json", "status.json", "fidelity.json"])
def test_a_list_names_a_damaged_file_and_shows_the_other_runs(run, tmp_path, name):
    other = make_run(tmp_path, "words", "20260101-000001")
    (run.directory / name).write_text("{")

    result = streambed("list", "--into", tmp_path)

    assert result.exit_code == 0, result.output
    assert f"damaged: {run.directory / name} is damaged: " in result.output
    assert f"words/{other.directory.name}" in result.output
    states = [
        row["state"] for row in json.loads(streambed("list", "--json", "--into", tmp_path).output)
    ]
    assert states == ["damaged", "finished"]


@pytest.mark.parametrize(
    ("command", "name"),
    [("check", "plan.json"), ("report", "plan.json"), ("report", "verdicts.json")],
)
def test_a_damaged_file_is_one_message(run, tmp_path, command, name):
    (run.directory / name).write_text("{")

    result = streambed(command, run.directory)

    assert isinstance(result.exception, FormatError)
    assert f"{name} is damaged: " in str(result.exception)


def test_verdicts_of_other_checks_than_declared_are_listed(run, tmp_path):
    kept = run.directory / "verdicts.json"
    kept.write_text(json.dumps(json.loads(kept.read_text()) * 2))

    assert streambed("list", "--into", tmp_path).exit_code == 0


LATE = Fidelity(
    believable=False,
    says="network timing was off for 2 of 11 s",
    spans=(Span(start=0, end=1, says="late"),),
)


def printed_fidelity(run: runs.Run, capsys: pytest.CaptureFixture[str], **verdict: Any) -> str:
    options.console.cache_clear()
    judged = Verdict(check="latency", says="", punctual=True, **verdict)
    options.show_end(run, [judged], None, fidelity=LATE)
    (line,) = [line for line in capsys.readouterr().out.splitlines() if "fidelity" in line]
    return line


def test_late_links_are_a_warning_with_a_remedy_only_if_a_verdict_depends_on_them(run, capsys):
    doubted = printed_fidelity(run, capsys, answer="unknown", evidence={"in_doubtful_time": 3})
    sure = printed_fidelity(run, capsys, answer="holds", evidence={"in_doubtful_time": 3})

    assert doubted.startswith("fidelity  DOUBTFUL network timing was off for 2 of 11 s. To get")
    assert sure == "fidelity  network timing was off for 2 of 11 s; no verdict depends on it"
