"""Templates and examples: found, copied whole, never over what is there."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from streambed.cli import starters
from streambed.cli.app import app
from streambed.declare import reading

ROOT = Path(__file__).parents[2]
EXAMPLES = (
    "faults",
    "fraud",
    "gateways",
    "maritime",
    "partition",
    "reroute",
    "rides",
    "sentiment",
    "stream2gym",
    "word_count",
)


def streambed(*words: str) -> Result:
    return CliRunner().invoke(app, list(words))


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("template", starters.templates())
def test_what_new_writes_can_be_planned(template):
    made = streambed("new", "mine", "--template", template)
    planned = streambed("plan", "mine/experiment.yaml")

    assert made.exit_code == 0
    assert made.output.endswith("Next: streambed run mine/experiment.yaml\n")
    assert planned.exit_code == 0, planned.exception
    declared = reading.read(Path("mine/experiment.yaml")).experiment
    assert declared.name == "mine"
    assert declared.checks


def test_the_templates_are_listed_with_a_line_each():
    lines = streambed("new", "--list").output.splitlines()

    assert [line.split()[0] for line in lines] == ["kafka", "leader-kill", "spark", "store"]
    assert all(len(line) > 30 for line in lines)


def test_new_without_a_name_takes_that_of_the_template():
    streambed("new", "-t", "store")

    assert "name: store\n" in Path("store/experiment.yaml").read_text()


def test_new_never_overwrites():
    streambed("new", "mine")
    Path("mine/experiment.yaml").write_text("kept")

    again = streambed("new", "mine")

    assert "mine exists already, and nothing is overwritten" in str(again.exception)
    assert Path("mine/experiment.yaml").read_text() == "kept"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["new", "-t", "kafak"], "there is no template 'kafak'. Did you mean 'kafka'?"),
        (["new", "a/b"], "'a/b' cannot be a name"),
        (["examples", "partitoin"], "there is no example 'partitoin'. Did you mean 'partition'?"),
    ],
)
def test_a_wrong_word_is_reported_with_what_to_do(words, says):
    assert says in str(streambed(*words).exception)


def test_examples_are_listed_with_a_line_each_and_copied_whole():
    lines = streambed("examples").output.splitlines()
    copied = streambed("examples", "word_count")

    assert tuple(line.split()[0] for line in lines[:-1]) == EXAMPLES
    assert copied.exit_code == 0
    there = {path.name for path in (ROOT / "examples" / "word_count").glob("*.*")}
    assert {path.name for path in Path("word_count").iterdir()} == there
    assert not Path("word_count/streams.py").is_symlink()
    assert streambed("plan", "word_count/experiment.yaml").exit_code == 0
    assert "exists already" in str(streambed("examples", "word_count").exception)
