"""A run whose delay line was starved of processors says so, of that span alone."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from streambed.record.fidelity import judged_window
from streambed.reports import page
from streambed.reports.figure import Figure
from streambed.results.runs import Run
from tests.support.held_up import NotMeasured, Pulse, wait_for_calm
from tests.support.running import end_now, only_run, phases, start, wait_for

pytestmark = pytest.mark.system

SECOND_NS = 1_000_000_000
MOST_ELSEWHERE = 0.3
"""Less than one second of the two or three before and after the starvation."""
DOUBT = {"type": "rule", "style": "doubt", "clip": True}
"""The mark of the shade over doubtful spans."""
EXPERIMENT = """
version: 1
name: starved
duration: 10s
topology:
  switches: [core]
  links:
    - {ends: [edge, core], delay: 20ms}
    - {ends: [home, core], delay: 5ms}
components:
  sender: {kind: command, node: edge, starts: load, argv: ["{run.python}", sender.py, home]}
"""
SENDER = """
import socket, sys, time
end = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
while True:
    end.sendto(b"!", (sys.argv[1], 9))
    time.sleep(0.005)
"""
HOG = """
import os, sys, time
core, seconds = int(sys.argv[1]), float(sys.argv[2])
os.sched_setaffinity(0, {core})
try:
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
except PermissionError:
    for _ in range(30):  # Without the right to a high priority, it takes many.
        if not os.fork():
            break
end = time.monotonic() + seconds
print(time.monotonic_ns(), flush=True)
while time.monotonic() < end:
    pass
"""
"""It ends by itself: the test may be starved too."""


def starve(seconds: float) -> tuple[int, int]:
    """Keep every core busy before anybody else; from when to when."""
    argv = [sys.executable, "-c", HOG]
    hogs = [
        subprocess.Popen([*argv, str(core), str(seconds)], stdout=subprocess.PIPE)
        for core in os.sched_getaffinity(0)
    ]
    began = min(int(hog.communicate()[0].split()[0]) for hog in hogs)
    return began, began + round(seconds * SECOND_NS)


def overlap(one: tuple[int, int], other: tuple[int, int]) -> int:
    return max(0, min(one[1], other[1]) - max(one[0], other[0]))


@dataclass(frozen=True)
class Starved:
    """A run, when it was starved, and whether the machine was calm before and after that."""

    run: Run
    span: tuple[int, int]
    calm_elsewhere: bool


@pytest.fixture(scope="module")
def starved(tmp_path_factory: pytest.TempPathFactory) -> Starved:
    """One run for all tests; a clock outside the run tells whether the machine was calm."""
    wait_for_calm()
    with Pulse() as pulse:
        run, span = starved_run(tmp_path_factory.mktemp("starved"))
    return Starved(run, span, calm_elsewhere(pulse, run, span))


def parts_elsewhere(run: Run, span: tuple[int, int]) -> list[tuple[int, int]]:
    """The judged time before and after the starvation, without what it may still disturb: a sample
    covers a second, and queues drain after it.
    """
    window = judged_window(run.history())
    assert window
    return [(window[0], span[0] - SECOND_NS), (span[1] + 2 * SECOND_NS, window[1])]


def calm_elsewhere(pulse: Pulse, run: Run, span: tuple[int, int]) -> bool:
    parts = parts_elsewhere(run, span)
    return not any(pulse.held_up_between(start / 1e9, end / 1e9) for start, end in parts)


def starved_run(folder: Path) -> tuple[Run, tuple[int, int]]:
    (folder / "experiment.yaml").write_text(EXPERIMENT)
    (folder / "sender.py").write_text(SENDER)
    process = start(folder / "experiment.yaml", folder / "runs")
    try:
        directory: Path = wait_for(lambda: only_run(folder / "runs"), 20, "the run's folder")
        wait_for(lambda: "load" in phases(directory), 20, "the load")
        wait_for(
            lambda: process.poll() is not None or _loaded_s(directory) > 3,
            20,
            "three seconds of load",
        )
        span = starve(2.0)
        assert process.wait(60) == 0, process.stdout and process.stdout.read()
    finally:
        end_now(process)
    return Run(directory), span


def _loaded_s(directory: Path) -> float:
    return time.monotonic() - (Run(directory).history().load_ns or 0) / 1e9


def test_the_span_of_starvation_is_not_to_be_believed(starved: Starved) -> None:
    fidelity = starved.run.fidelity()

    assert not fidelity.believable
    in_doubt_ns = sum(overlap((doubt.start, doubt.end), starved.span) for doubt in fidelity.spans)
    assert in_doubt_ns > 1.5 * SECOND_NS, fidelity


def in_doubt_elsewhere(run: Run, span: tuple[int, int]) -> float:
    """The share in doubt of the time before the span or after it, whichever is larger.

    Doubts because of stolen CPU do not count: the hypervisor causes them, not the hogs.
    """
    doubts = [doubt for doubt in run.fidelity().spans if "stolen" not in doubt.reasons]
    shares = []
    for part in parts_elsewhere(run, span):
        in_doubt_ns = sum(overlap((doubt.start, doubt.end), part) for doubt in doubts)
        shares.append(in_doubt_ns / (part[1] - part[0]))
    return max(shares)


def test_the_rest_of_the_run_is_believed(starved: Starved) -> None:
    if not starved.calm_elsewhere:
        raise NotMeasured("not measured: the machine was held up outside the starvation")

    assert in_doubt_elsewhere(starved.run, starved.span) < MOST_ELSEWHERE, starved.run.fidelity()


def test_the_report_marks_the_span_on_its_plots_and_says_so_on_top(starved: Starved) -> None:
    run, began = starved.run, starved.span[0]
    starved_s = run.history().load_seconds(began) + 1

    text = page.write(run.directory).read_text()

    assert "network timing off for" in text
    over_time = figures_over_time(run)
    assert over_time
    for figure in over_time:
        spans = doubtful_spans(figure.spec(""))
        assert any(span["from_s"] <= starved_s <= span["to_s"] for span in spans), figure.name


def figures_over_time(run: Run) -> list[Figure]:
    figures = []
    for section in page.sections(run.history(), run.plan).values():
        figures += [figure for figure in section if isinstance(figure, Figure)]
    return [figure for figure in figures if "seconds since the load began" in str(figure.spec(""))]


def doubtful_spans(spec: Any) -> list[dict[str, float]]:
    """The data of the strips that mark doubt, anywhere in a specification."""
    if isinstance(spec, list):
        return [span for part in spec for span in doubtful_spans(part)]
    if not isinstance(spec, dict):
        return []
    if spec.get("mark") == DOUBT:
        values: list[dict[str, float]] = spec["data"]["values"]
        return values
    return [span for part in spec.values() for span in doubtful_spans(part)]
