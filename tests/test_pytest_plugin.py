"""The fixture `streambed` in a separate project, with a launcher that only pretends."""

from __future__ import annotations

import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from tests.support.fake_launcher import CHECKED, SMALL, install

pytest_plugins = ["pytester"]
TEST = """\
def test_small(streambed):
    run = streambed("small.yaml", set={"duration": "3s"}, seed=3)
    assert run.verdict("no_loss").answer == "ANSWER"
"""


@pytest.fixture
def project(pytester: pytest.Pytester) -> Path:
    """A folder with an experiment beside a test in a subfolder."""
    folder = pytester.path / "checks"
    folder.mkdir()
    (folder / "small.yaml").write_text(SMALL + CHECKED)
    (folder / "test_small.py").write_text(TEST.replace("ANSWER", "unknown"))
    return folder


def run_pytest(pytester: pytest.Pytester, *words: str) -> pytest.RunResult:
    return pytester.runpytest_inprocess("-p", "no:cacheprovider", *words)


def test_a_test_runs_an_experiment_beside_it_and_asks_for_a_verdict(pytester, project, monkeypatch):
    fake = install(monkeypatch)

    run_pytest(pytester).assert_outcomes(passed=1)

    (plan,) = fake.launched
    assert (plan.seed, plan.declaration["duration"]) == (3, "3s")
    assert Path(plan.directory).parent == pytester.path / ".streambed" / "runs" / "small"


def test_runs_are_written_to_the_given_folder(pytester, project, monkeypatch, tmp_path):
    fake = install(monkeypatch)

    run_pytest(pytester, "--streambed-into", str(tmp_path / "kept")).assert_outcomes(passed=1)

    assert Path(fake.launched[0].directory).parent == tmp_path / "kept" / "small"


def test_a_failure_shows_the_verdicts_and_where_the_report_is(pytester, project, monkeypatch):
    fake = install(monkeypatch)
    (project / "test_small.py").write_text(TEST.replace("ANSWER", "holds"))

    result = run_pytest(pytester)

    result.assert_outcomes(failed=1)
    directory = fake.launched[0].directory
    result.stdout.fnmatch_lines(
        [
            "*no_loss UNKNOWN: nothing was acked on lines",
            f"kept in {directory}",
            f"report in {directory}/report.html",
        ]
    )
    assert (Path(directory) / "report.html").exists()


def test_junit_carries_the_run_and_its_verdicts(pytester, project, monkeypatch):
    fake = install(monkeypatch)

    run_pytest(pytester, "--junit-xml=junit.xml")

    properties = {
        each.get("name"): each.get("value")
        for each in ElementTree.parse(pytester.path / "junit.xml").iter("property")
    }
    assert properties == {
        "run": fake.launched[0].directory,
        "verdict.no_loss": "unknown: nothing was acked on lines",
    }


@pytest.mark.parametrize(
    ("state", "says"),
    [("failed", "is failed: it failed"), ("raises", "streambed: the disk is full")],
)
def test_a_run_that_could_not_be_made_is_an_error_with_its_reason_and_no_trace(
    pytester, project, monkeypatch, state, says
):
    install(monkeypatch, state)

    result = run_pytest(pytester)

    result.assert_outcomes(errors=1)
    text = result.stdout.str()
    assert says in text
    assert "ERROR at call of test_small" in text
    assert "launcher.py" not in text
    assert "Traceback" not in text


def test_a_wrong_file_is_reported_with_its_line(pytester, project, monkeypatch):
    install(monkeypatch)
    (project / "small.yaml").write_text(SMALL.replace("duration: 2s", "duration: 2"))
    (project / "test_small.py").write_text(TEST.replace('set={"duration": "3s"}, ', ""))

    result = run_pytest(pytester)

    result.assert_outcomes(errors=1)
    assert "small.yaml:3:11: duration: 2 is not a duration" in result.stdout.str()


def test_ctrl_c_during_a_run_ends_pytest(pytester, project, monkeypatch):
    install(monkeypatch, "interrupted")

    assert (
        pytester.inline_run("-p", "no:cacheprovider", no_reraise_ctrlc=True).ret
        == pytest.ExitCode.INTERRUPTED
    )


def test_a_project_that_does_not_use_it_loads_nothing_heavy():
    script = (
        "import sys, streambed.pytest_plugin; heavy = ('polars', 'pydantic', 'altair', 'numpy'); "
        "print([name for name in heavy if name in sys.modules])"
    )

    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )

    assert done.stdout == "[]\n"


def test_a_failure_without_checks_says_that_nothing_was_checked(pytester, project, monkeypatch):
    install(monkeypatch)
    (project / "small.yaml").write_text(SMALL)
    (project / "test_small.py").write_text(
        "def test_small(streambed):\n    assert not streambed('small.yaml')\n"
    )

    result = run_pytest(pytester)

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["nothing was checked: the experiment declares no checks"])


def test_text_in_set_is_read_as_on_the_command_line(pytester, project, monkeypatch):
    fake = install(monkeypatch)
    faults = "faults: [{kind: pause, at: 1s, lasts: 1s, target: talker}]\n"
    (project / "small.yaml").write_text(SMALL + faults)
    (project / "test_small.py").write_text(
        "def test_small(streambed):\n"
        "    streambed('small.yaml', set={'faults': '[]'})\n"
        "    streambed('small.yaml', set={'faults': [], 'seed': '7'})\n"
    )

    run_pytest(pytester).assert_outcomes(passed=1)

    assert [plan.declaration["faults"] for plan in fake.launched] == [[], []]
    assert fake.launched[1].seed == 7


def test_a_wrong_set_is_reported_without_a_second_trace(pytester, project, monkeypatch):
    install(monkeypatch)
    (project / "test_small.py").write_text(TEST.replace("duration", "duratoin"))

    text = run_pytest(pytester).stdout.str()

    assert "an experiment has no key 'duratoin'. Did you mean 'duration'?" in text
    assert "During handling of the above exception" not in text


def test_an_unknown_verdict_shows_the_line_of_the_test_and_not_streambeds(
    pytester, project, monkeypatch
):
    install(monkeypatch)
    (project / "test_small.py").write_text(TEST.replace("no_loss", "no_los"))

    text = run_pytest(pytester).stdout.str()

    assert "there is no verdict 'no_los'. Did you mean 'no_loss:lines'?" in text
    assert "results/runs.py" not in text
