"""The oldest Python at hand fetches and runs servers of stores, as the Python of these tests does.

A distribution's own Python is often older than the one of a developer; README promises both.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from streambed import Run, artifacts
from tests.support.missing_tools import lack
from tests.support.running import ROOT

pytestmark = [
    pytest.mark.system,
    pytest.mark.together(40),
    pytest.mark.usefixtures("store_servers"),
]
OWN = Path("/usr/bin/python3")
"""The distribution's Python."""
VERSION = "import sys; print(*sys.version_info[:3])"
EXPERIMENT = """
version: 1
name: oldest
duration: 1s
topology: {hosts: [one]}
components:
  store: {kind: postgresql, node: one,
          setup: ["create table mine (a int)", "insert into mine values (7)"]}
"""
Done = subprocess.CompletedProcess[str]


def version_of(python: Path) -> tuple[int, ...]:
    done = subprocess.run([python, "-c", VERSION], capture_output=True, text=True, check=True)
    return tuple(map(int, done.stdout.split()))


def oldest_python() -> Path:
    """The distribution's Python if it is older; packages fit only the same minor version."""
    if not OWN.exists():
        lack(f"there is no {OWN}: install python3")
    own, ours = version_of(OWN), tuple(sys.version_info[:3])
    if own[:2] != ours[:2] or own >= ours:
        words = [".".join(map(str, version)) for version in (own, ours)]
        pytest.skip(f"{OWN} is {words[0]}: not an older {ours[0]}.{ours[1]} than {words[1]}")
    return OWN


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment of the oldest Python, with the packages of this one."""
    folder = tmp_path_factory.mktemp("oldest")
    subprocess.run([oldest_python(), "-m", "venv", "--without-pip", folder], check=True)
    (packages,) = folder.glob("lib/python3*/site-packages")
    ours = sysconfig.get_path("purelib")
    # Unlike a bare path, addsitedir also reads the .pth files there: ours says where src is.
    (packages / "ours.pth").write_text(f"import site; site.addsitedir({ours!r})\n")
    return folder / "bin" / "python"


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache that has every jar and no server yet."""
    folder = tmp_path_factory.mktemp("cache")
    (folder / "jars").symlink_to(artifacts.cache() / "jars")
    return folder


def run(python: Path, cache: Path, *words: str, cwd: Path = ROOT) -> Done:
    environment = {**os.environ, "STREAMBED_CACHE": str(cache)}
    command = [python, "-m", *words]
    return subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=240, check=False
    )


@pytest.fixture(scope="module")
def fetched(python: Path, cache: Path) -> Done:
    return run(python, cache, "streambed", "fetch", "postgresql", "redis")


def test_the_oldest_python_unpacks_a_server_and_doctor_finds_it(python, cache, fetched):
    assert fetched.returncode == 0, fetched.stderr
    (home,) = (cache / "servers").iterdir()
    assert home.name == artifacts.server_home("postgresql").name
    said = run(python, cache, "streambed", "doctor").stdout
    (line,) = [line for line in said.splitlines() if " postgresql " in line]
    assert line.split()[0] == "ok", line


def test_the_oldest_python_runs_a_server_that_it_unpacked(python, cache, fetched, tmp_path):
    (tmp_path / "experiment.yaml").write_text(EXPERIMENT)

    done = run(python, cache, "streambed", "run", "experiment.yaml", "--no-report", cwd=tmp_path)

    assert done.returncode == 0, done.stdout + done.stderr
    found = Run(tmp_path / "runs" / "oldest" / "latest").query("store", "select a from mine")
    assert found.item() == 7


def test_the_tests_of_stores_and_servers_pass_on_the_oldest_python(python, cache):
    words = ("pytest", "-q", "-p", "no:cacheprovider", "-m", "not spark")

    done = run(python, cache, *words, "tests/stores", "tests/test_servers.py")

    assert done.returncode == 0, done.stdout
