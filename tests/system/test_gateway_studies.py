"""The studies of the gateways: one in its quick form, and the page that tells of them."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support.running import ROOT

pytestmark = [pytest.mark.system, pytest.mark.together(45)]
STUDIES = ROOT / "studies" / "gateways"


def run(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "studies.gateways.run", *words]
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=280, check=False
    )


def test_an_experiment_measures_and_judges_its_claim():
    done = run("serialisation", "--quick")

    assert done.returncode == 0, done.stdout + done.stderr
    assert "serialisation: 2 rows in " in done.stdout
    assert "bytes in JSON and " in done.stdout


def test_the_page_is_made_from_the_results():
    before = (STUDIES / "README.md").read_text()

    done = run("readme")

    assert done.returncode == 0, done.stderr
    assert (STUDIES / "README.md").read_text() == before
