"""What no tracked file may hold."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
# Joined here, so that this file does not itself hold what it looks for.
HOSTS = [
    "pypi" + ".org",
    "python" + "hosted.org",
    "maven" + ".org",
    "maven" + ".apache.org",
    "nexus" + ".",
]
MACHINE_PATHS = re.compile(r"(?<![\w.~}])/(?:" + "root" + "|" + "work" + r")/")


def tracked() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if listed.returncode:
        pytest.skip("not a git checkout")
    return [path for name in listed.stdout.splitlines() if (path := ROOT / name).is_file()]


def test_tracked_files_name_no_registry_and_no_place_on_a_machine():
    offenders = []
    for path in tracked():
        text = path.read_text(errors="replace")
        if any(host in text for host in HOSTS) or MACHINE_PATHS.search(text):
            offenders.append(path.relative_to(ROOT).as_posix())
    assert offenders == []
