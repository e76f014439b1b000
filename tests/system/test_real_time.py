"""In a run, only the delay line runs in real time."""

from __future__ import annotations

import os

import pytest

from streambed import Run
from streambed.net import realtime
from streambed.record.events import DelayLine
from tests.support.running import only_run, start

pytestmark = [pytest.mark.system, pytest.mark.together(5)]
EXPERIMENT = """
version: 1
name: hurry
duration: 1s
topology:
  links: [{ends: [left, right], delay: 5ms}]
components:
  asker: {kind: command, node: left,
          argv: [sh, -c, "cut -d ' ' -f 41 /proc/self/stat; exec sleep 1000"]}
"""


def test_programs_are_ordinary_whether_the_delay_line_is_in_real_time_or_not(tmp_path):
    (tmp_path / "experiment.yaml").write_text(EXPERIMENT)
    launcher = start(tmp_path / "experiment.yaml", tmp_path / "runs")
    output, _ = launcher.communicate(timeout=60)

    directory = only_run(tmp_path / "runs")
    assert launcher.returncode == 0, output
    assert (directory / "logs" / "asker.log").read_text().split() == [str(os.SCHED_OTHER)]
    run = Run(directory)
    delay_lines = [event.runs for event in run.history().of(DelayLine)]
    if run.plan.machine.means == "netem":
        assert delay_lines == []
    else:
        assert delay_lines == ["in real time" if realtime.is_allowed() else "with short slices"]
