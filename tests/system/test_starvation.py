"""A run whose delay line was starved of processors says so, of that span alone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from held_up import wait_for_calm
from running import end_now, only_run, phases, start, wait_for

from streambed.record.fidelity import judged_window
from streambed.reports import page
from streambed.reports.figure import Figure
from streambed.results.runs import Run

pytestmark = pytest.mark.system

SECOND_NS = 1_000_000_000
TRIES = 3
MOST_ELSEWHERE = 0.3
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
    for _ in range(30):  # Whoever may not be first can be many.
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


@pytest.fixture(scope="module")
def starved(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, tuple[int, int]]:
    """Whatever else presses this machine leaves its own doubts, rightly: then it is done again,
    when there is calm.
    """
    for _ in range(TRIES):
        wait_for_calm()
        run, span = starved_run(tmp_path_factory.mktemp("starved"))
        if in_doubt_elsewhere(run, span) < MOST_ELSEWHERE:
            break
    return run, span


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
    import time

    return time.monotonic() - (Run(directory).history().load_ns or 0) / 1e9


def test_the_span_of_starvation_is_not_to_be_believed(starved: tuple[Run, tuple[int, int]]) -> None:
    run, span = starved

    found = run.fidelity()

    assert not found.believable
    assert (
        sum(overlap((doubt.start, doubt.end), span) for doubt in found.spans) > 1.5 * SECOND_NS
    ), found


def in_doubt_elsewhere(run: Run, span: tuple[int, int]) -> float:
    """The share in doubt of the time before the span or of that after it, whichever is larger; the
    hypervisor gives doubts of its own.
    """
    window, spans = (
        judged_window(run.history()),
        [doubt for doubt in run.fidelity().spans if "stolen" not in doubt.reasons],
    )
    assert window
    calm = (window[0], span[0] - SECOND_NS), (span[1] + 2 * SECOND_NS, window[1])
    return max(
        sum(overlap((doubt.start, doubt.end), one) for doubt in spans) / (one[1] - one[0])
        for one in calm
    )


def test_the_rest_of_the_run_is_believed(starved: tuple[Run, tuple[int, int]]) -> None:
    assert in_doubt_elsewhere(*starved) < MOST_ELSEWHERE, starved[0].fidelity()


def test_the_report_shades_the_span_on_its_plots_and_says_so_above_them(
    starved: tuple[Run, tuple[int, int]],
) -> None:
    run, (began, _) = starved
    history = run.history()

    text = page.write(run.directory).read_text()

    assert "Not all of this run is to be believed" in text
    figures = [
        figure
        for found in page.sections(history, run.plan).values()
        for figure in found
        if isinstance(figure, Figure)
    ]
    over_time = [
        figure for figure in figures if "seconds since the run began" in str(figure.spec(""))
    ]
    assert over_time
    for figure in over_time:
        shades = [
            layer
            for layer in figure.spec("")["layer"]
            if layer["mark"] == {"type": "rect", "style": "doubt", "clip": True}
        ]
        (shade,) = shades
        assert any(
            found["from_s"] <= history.seconds(began) + 1 <= found["to_s"]
            for found in shade["data"]["values"]
        ), figure.name
