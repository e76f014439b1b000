"""The wheel that users install has everything that the command line needs."""

from __future__ import annotations

import subprocess
import sys
import zipfile

import pytest

from tests.support.running import ROOT, streambed

pytestmark = [pytest.mark.system, pytest.mark.together(5)]
EXAMPLES = sorted(page.parent.name for page in (ROOT / "examples").glob("*/README.md"))


def test_a_wheel_has_the_templates_and_the_examples(tmp_path):
    """Built here, unpacked, and used from there."""
    building = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    done = subprocess.run(building, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "installed")

    installed = {"PYTHONPATH": "installed"}
    listed = streambed("examples", cwd=tmp_path, env=installed)
    made = streambed("new", "-t", "spark", cwd=tmp_path, env=installed)

    assert "They are in installed/streambed/examples." in listed.stdout, listed.stderr
    assert [line.split()[0] for line in listed.stdout.splitlines()[:-1]] == EXAMPLES
    shared = "streambed/examples/word_count/streams.py"
    assert (tmp_path / "installed" / shared).read_text().startswith('"""What jobs share')
    assert made.returncode == 0
    assert {path.name for path in (tmp_path / "spark").iterdir()} == {
        "experiment.yaml",
        "windows.py",
    }
