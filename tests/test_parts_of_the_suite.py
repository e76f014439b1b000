"""The parts of the test suite that scripts/test runs: fast, two files at a time, alone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SLOW_FOLDERS = ("kernel", "spark", "system")
SLOW_MARK = re.compile(
    r"^pytestmark = .*?pytest\.mark\.(kernel|spark|system|browser)\b", re.M | re.S
)


@pytest.mark.parametrize("folder", SLOW_FOLDERS)
def test_a_folder_of_slow_tests_has_no_fast_one(folder):
    """`make quick` does not look into these folders."""
    files = sorted((ROOT / "tests" / folder).glob("test_*.py"))
    assert files
    assert [path.name for path in files if not SLOW_MARK.search(path.read_text())] == []
    assert f"--ignore=tests/{folder}" in (ROOT / "scripts" / "test").read_text()


def test_what_is_measured_in_calm_does_not_run_beside_another_file():
    together = [
        path for path in (ROOT / "tests").rglob("test_*.py") if "mark.together" in path.read_text()
    ]
    measuring = [path for path in together if "tests.support.held_up" in path.read_text()]
    assert together
    assert [path.name for path in measuring if path != Path(__file__)] == []
    assert [path.name for path in together if path.parent.name == "kernel"] == []


def test_a_file_that_may_run_beside_another_says_how_long_it_takes():
    """The longest begin first, so that at the end no worker waits long for the other."""
    unsaid = re.compile(r"pytest\.mark\.together(?!\(\d)")
    files = (ROOT / "tests").rglob("test_*.py")

    assert [path.name for path in files if unsaid.search(path.read_text())] == []
