"""The tutorial works: its files, commands and Python, in the order of the page."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.pages import commands_in
from tests.support.running import ROOT, streambed

pytestmark = pytest.mark.system
PAGE = ROOT / "docs" / "first-hour.md"
BLOCK = re.compile(r"<!-- (file|append|commands|python):? ?(\S*) -->\n```\w+\n(.*?)```", re.DOTALL)


def run_commands(text: str, folder: Path) -> None:
    for command in commands_in(text):
        done = streambed(*shlex.split(command.line)[1:], cwd=folder)
        assert done.returncode == command.status, f"{command.line}\n{done.stdout}\n{done.stderr}"


def run_python(text: str, folder: Path) -> None:
    subprocess.run([sys.executable, "-c", text], cwd=folder, timeout=60, check=True)


@pytest.mark.timeout(600)
def test_every_block_of_the_first_hour_works(tmp_path):
    for use, name, text in BLOCK.findall(PAGE.read_text()):
        if use == "commands":
            run_commands(text, tmp_path)
        elif use == "python":
            run_python(text, tmp_path)
        else:
            with (tmp_path / name).open("w" if use == "file" else "a") as file:
                file.write(text)
    verdicts = streambed("check", "shout/latest", cwd=tmp_path).stdout
    assert "no_loss    HOLDS" in verdicts
    assert "overlaps cut" in verdicts
