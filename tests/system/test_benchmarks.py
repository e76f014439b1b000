"""Every benchmark still works: its smallest form ends with one JSON object."""

from __future__ import annotations

import json
import subprocess

import pytest
from running import ROOT

pytestmark = pytest.mark.system

NAMES = sorted(path.stem for path in (ROOT / "benchmarks").glob("[a-z]*.py"))


@pytest.mark.parametrize("name", NAMES)
def test_the_quick_form_of_a_benchmark_shows_progress_and_ends_with_json(name):
    done = subprocess.run([ROOT / "scripts" / "bench", name, "--quick"], capture_output=True, text=True, timeout=280, check=False)

    assert done.returncode == 0, done.stderr[-3000:]
    *progress, last = done.stdout.splitlines()
    assert json.loads(last)["bench"] == name
    assert progress or done.stderr
