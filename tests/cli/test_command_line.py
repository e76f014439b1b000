"""The command line as a program: help, version, completion, and what it loads."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from click.testing import Result
from typer.testing import CliRunner

import streambed
from streambed.cli.app import app
from streambed.cli.commands import COMMANDS, GROUPS, help_text
from tests.support.declare.samples import FIRST

LARGE = ("altair", "jinja2", "networkx", "numpy", "polars", "pyarrow", "pyspark")
LOADED = """
import json, sys
sys.argv = ["streambed", *{words!r}]
from streambed.cli import main
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
names = [name for name in {names!r} if "__file__" in vars(sys.modules.get(name, json.JSONDecoder))]
loaded = [name for name in names if type(sys.modules[name]).__name__ == "module"]
print(json.dumps(loaded))
"""


def streambed_program(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "streambed", *words],
        capture_output=True,
        text=True,
        env={**os.environ, **variables},
        check=False,
    )


def call(*words: str) -> Result:
    return CliRunner().invoke(app, list(words))


def loaded_by(*words: str) -> list[str]:
    program = LOADED.format(words=words, names=(*LARGE, "pydantic", "rich", "typer"))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    loaded: list[str] = json.loads(done.stdout.splitlines()[-1])
    return loaded


@pytest.mark.parametrize("words", [["--help"], ["-h"], []])
def test_help_lists_every_command_in_groups(words):
    done = streambed_program(*words)

    assert done.returncode == 0
    for title, group in GROUPS.items():
        assert f"{title}:" in done.stdout
        assert all(f"  {name:<10} {command.says}" in done.stdout for name, command in group.items())


def test_help_loads_no_library():
    assert loaded_by("--help") == []


def test_a_plan_loads_nothing_that_only_a_run_or_a_report_uses(tmp_path):
    (tmp_path / "first.yaml").write_text(FIRST)

    assert not set(loaded_by("plan", str(tmp_path / "first.yaml"))) & {*LARGE, "rich"}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_has_its_line_of_help_and_both_options_for_help(name):
    function = COMMANDS[name].load()
    first_line = " ".join((function.__doc__ or "").partition("\n\n")[0].split())

    assert first_line == COMMANDS[name].says
    assert call(name, "-h").output == call(name, "--help").output
    assert call(name, "-h").exit_code == 0


def test_the_version_is_that_of_the_package():
    assert streambed_program("--version").stdout == f"streambed {streambed.__version__}\n"
    assert call("--version").output == f"streambed {streambed.__version__}\n"
    assert streambed.__version__.count(".") == 2


def test_the_library_prints_the_same_help():
    assert help_text() in call("--help").output


def test_a_misspelt_command_gets_a_suggestion():
    done = streambed_program("rnu")

    assert done.returncode == 64
    assert done.stderr == "there is no command 'rnu'. Did you mean 'run'?\n"


def test_a_shell_completes_commands_and_options():
    asked = {"_STREAMBED_COMPLETE": "complete_bash", "COMP_CWORD": "1"}

    commands = streambed_program(COMP_WORDS="streambed re", **asked)
    options = streambed_program(COMP_WORDS="streambed run --no", **{**asked, "COMP_CWORD": "2"})

    assert commands.stdout.split() == ["report"]
    assert options.stdout.split() == ["--no-report"]


def test_the_completion_of_a_shell_is_printed():
    asked_for_by_name = {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    done = streambed_program("--show-completion", "bash", **asked_for_by_name)

    assert "_STREAMBED_COMPLETE=complete_bash" in done.stdout
