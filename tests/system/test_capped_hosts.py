"""A capped host gets no more than its share of the machine, its children included, and nothing is
left of its control group.
"""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import polars as pl
import pytest

from streambed import Run
from tests.support.running import end_now, only_run, phases, start, streambed, wait_for

pytestmark = pytest.mark.system
CORES = len(os.sched_getaffinity(0))
CAP_CORES = 0.2
BUSY = "[sh, -c, 'while :; do :; done & while :; do :; done']"
EXPERIMENT = f"""
version: 1
name: caps
duration: 3s
topology:
  links: [{{ends: [slow, fast]}}]
  cpu: {{slow: {100 * CAP_CORES / CORES}%}}
components:
  capped: {{kind: command, node: slow, starts: load, argv: {BUSY}}}
  free: {{kind: command, node: fast, starts: load, argv: {BUSY}}}
"""


@pytest.fixture
def experiment(tmp_path: Path) -> Path:
    file = tmp_path / "experiment.yaml"
    file.write_text(EXPERIMENT)
    return file


def groups(cpu_groups: str) -> list[Path]:
    """The control groups of this experiment's runs."""
    return list(Path(cpu_groups).glob("streambed-*-caps-*"))


def cores_used(run: Run, process: str) -> float:
    mine = (
        run.samples()
        .filter((pl.col("metric") == "process_cpu_s") & (pl.col("of") == process))
        .sort("time")
    )
    first, last = mine.row(0, named=True), mine.row(-1, named=True)
    assert last["time"] - first["time"] > 1e9, mine
    return (last["value"] - first["value"]) / (last["time"] - first["time"]) * 1e9


def test_a_capped_host_gets_its_share_and_others_what_there_is(experiment, tmp_path, cpu_groups):
    done = streambed("run", experiment, "--json", "--no-report", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    run = Run(Path(json.loads(done.stdout)["run"]))

    capped, free = cores_used(run, "capped"), cores_used(run, "free")

    assert 0.5 * CAP_CORES < capped < 1.5 * CAP_CORES
    assert free > 2 * capped
    assert groups(cpu_groups) == []


def test_the_group_goes_although_the_launcher_was_killed(experiment, tmp_path, cpu_groups):
    launcher = start(experiment, tmp_path / "runs")
    try:
        directory = wait_for(lambda: only_run(tmp_path / "runs"), 20, "the run's folder")
        wait_for(lambda: "load" in phases(directory), 20, "load")
        assert len(groups(cpu_groups)) == 1
        os.kill(launcher.pid, signal.SIGKILL)
        wait_for(lambda: not groups(cpu_groups), 3, "the group to go")
    finally:
        end_now(launcher)
