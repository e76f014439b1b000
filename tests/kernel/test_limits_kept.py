"""The kernel keeps processes to their limits, and what it kills for memory is said to be just
that.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import polars as pl
import pytest

from streambed import Run
from streambed.record.events import ProcessEnded
from streambed.runner.cgroups import hierarchies
from tests.support.missing_tools import lack
from tests.support.running import streambed

pytestmark = pytest.mark.kernel
CORES = len(os.sched_getaffinity(0))
LAST = max(os.sched_getaffinity(0))
BUSY = "[sh, -c, 'while :; do :; done']"
HOG = "[python3, -c, 'bytearray(200 << 20).replace(bytes(1), bytes(1))']"
EXPERIMENT = f"""
version: 1
name: limits
duration: 3s
topology:
  links: [{{ends: [a, b]}}]
components:
  slow: {{kind: command, node: a, starts: load, argv: {BUSY}, limits: {{cpu: {20 / CORES}%}}}}
  behind: {{kind: command, node: b, starts: load, argv: {BUSY},
            limits: {{priority: 15, cores: [{LAST}]}}}}
  ahead: {{kind: command, node: b, starts: load, argv: {BUSY},
           limits: {{priority: -5, cores: [{LAST}]}}}}
  hog: {{kind: command, node: a, argv: {HOG}, limits: {{memory: 64MiB}}, on_exit: record}}
"""


@pytest.fixture
def experiment(tmp_path: Path) -> Path:
    folders = hierarchies.find()
    if not all(folders.values()):
        lack("this user may not make control groups")
    (tmp_path / "experiment.yaml").write_text(EXPERIMENT)
    return tmp_path / "experiment.yaml"


def cores_used(run: Run, process: str) -> float:
    mine = (
        run.samples()
        .filter((pl.col("metric") == "process_cpu_s") & (pl.col("of") == process))
        .sort("time")
    )
    return (mine["value"][-1] - mine["value"][0]) / (mine["time"][-1] - mine["time"][0]) * 1e9


def test_processes_keep_to_their_share_and_their_place_and_a_hog_dies(experiment, tmp_path):
    done = streambed("run", experiment, "--json", "--no-report", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    run = Run(Path(json.loads(done.stdout)["run"]))

    assert 0.1 < cores_used(run, "slow") < 0.3
    assert cores_used(run, "behind") < 0.1 * cores_used(run, "ahead")
    (end,) = [event for event in run.history().of(ProcessEnded) if event.process == "hog"]
    assert (end.status, end.memory_kills, end.expected) == (-9, 1, False)
    assert not [
        group
        for folder in hierarchies.find().values()
        for group in Path(folder).glob("streambed-*-limits-*")
    ]


def test_a_run_that_ends_for_want_of_memory_says_so_and_what_to_do(experiment, tmp_path):
    change = ["--set", "components.hog.on_exit=fail", "--set", "duration=20s"]
    done = streambed("run", experiment, "--no-report", *change, cwd=tmp_path)

    assert done.returncode == 3
    assert (
        "hog on a was killed for memory: components.hog.limits.memory allows it 64MiB. Raise that, "
        "or let it need less" in done.stderr
    )
