"""However a run ends, everything ends with it at once, and what it recorded can be read."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from streambed import Run
from streambed.record.events import Phase
from streambed.record.status import BY_USER
from tests.support.running import (
    STREAMBED,
    children,
    end_now,
    family,
    lives,
    only_run,
    phases,
    start,
    wait_for,
)

pytestmark = pytest.mark.system
VICTIMS = ("launcher", "box", "process 1", "conductor", "delay line")
PHASES = ("build", "start", "servers", "ready", "load", "heal", "drain", "stop")
"""All but destroy, which is recorded when everything has ended."""
CHAIN = {"box": "runner.box", "process 1": "", "conductor": "", "delay line": "delay_line"}
"""Each process below the launcher is a child of the one before; what its command line contains."""
AT_ONCE = 2
ENDED_WITHIN_S = 2.5
"""Shorter than STOP_S, so that an orderly stop does not pass for it."""
AS_LEADER = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""
"""Takes the terminal for its session, so that closing it sends SIGHUP; then becomes a command."""
EXPERIMENT = """
version: 1
name: ends
duration: 1s
topology:
  links: [{ends: [left, right], delay: 5ms}]
components:
  sleeper: {kind: command, node: left, argv: [sleep, "1000"]}
  echo: {kind: command, node: right,
         argv: [sh, -c, "trap '' TERM; while true; do echo here; sleep 0.1; done"]}
"""


def victims(launcher: int) -> dict[str, int]:
    """The processes that hold a run together, as far as they are there yet."""
    pids = {"launcher": launcher}
    parent = launcher
    for name, command in CHAIN.items():
        below = [child for child in children(parent) if command in command_of(child)]
        if not below:
            break
        parent = pids[name] = below[0]
    return pids


def command_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def launched(tmp_path: Path) -> tuple[subprocess.Popen[str], Path]:
    """A run that has only its folder yet."""
    (tmp_path / "experiment.yaml").write_text(EXPERIMENT)
    launcher = start(tmp_path / "experiment.yaml", tmp_path / "runs")
    return launcher, wait_for(lambda: only_run(tmp_path / "runs"), 20, "the run's folder")


def begun(
    tmp_path: Path, phase: str, victim: str
) -> tuple[subprocess.Popen[str], Path, dict[str, int]]:
    """A run that has just reached a phase and has the victim."""
    launcher, directory = launched(tmp_path)
    wait_for(lambda: phase in phases(directory), 20, phase)
    found = wait_for(lambda: victim in (now := victims(launcher.pid)) and now, 5, victim)
    return launcher, directory, found


def ctrl_c(launcher: subprocess.Popen[str], directory: Path, number: int = signal.SIGINT) -> None:
    """Interrupt a run: it says so, and nobody is left."""
    everybody = list(family(launcher.pid))
    os.killpg(launcher.pid, number)
    said, _ = launcher.communicate(timeout=20)

    assert launcher.returncode == 3, said
    assert "interrupted" in said
    assert Run(directory).state == "interrupted"
    assert not any(lives(pid) for pid in everybody)
    assert "Traceback" not in said


def kill_in_phase(folder: Path, victim: str, phase: str) -> None:
    """Kill one process of a run in one phase: everything ends, and the run says that it broke."""
    launcher, directory, pids = begun(folder, phase, victim)
    try:
        everybody = [pid for pid in family(launcher.pid) if pid != launcher.pid]
        os.kill(pids[victim], signal.SIGKILL)
        wait_for(
            lambda: not any(lives(pid) for pid in everybody),
            ENDED_WITHIN_S,
            f"{len(everybody)} processes to end",
        )
        launcher.wait(10)
    finally:
        end_now(launcher)

    run = Run(directory)
    assert run.state in ("broken", "failed"), run.reason
    assert run.reason
    assert run.history().of(Phase)


def interrupt_in_phase(folder: Path, phase: str) -> None:
    launcher, directory, _ = begun(folder, phase, "launcher")
    ctrl_c(launcher, directory)


Case = tuple[str, str]
"""A victim, or "Ctrl-C", and a phase."""


@pytest.fixture(scope="module")
def endings(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[Case, Future[None]]]:
    """All selected cases, AT_ONCE at a time: a run mostly waits."""
    futures: dict[Case, Future[None]] = {}
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for case in selected_cases(request.session):
            folder, (victim, phase) = tmp_path_factory.mktemp("ends"), case
            if victim == "Ctrl-C":
                futures[case] = pool.submit(interrupt_in_phase, folder, phase)
            else:
                futures[case] = pool.submit(kill_in_phase, folder, victim, phase)
        yield futures
        pool.shutdown(cancel_futures=True)


def selected_cases(session: pytest.Session) -> list[Case]:
    """The cases that this test run asks for, in its order."""
    tests = [item for item in session.items if "endings" in getattr(item, "fixturenames", ())]
    parameters = [test.callspec.params for test in tests]  # type: ignore[attr-defined]
    return [(values.get("victim", "Ctrl-C"), values["phase"]) for values in parameters]


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("victim", VICTIMS)
def test_kill_9_of_any_part_in_any_phase_ends_everything_and_breaks_the_run(endings, victim, phase):
    endings[victim, phase].result()


@pytest.mark.parametrize("phase", PHASES)
def test_ctrl_c_in_any_phase_ends_the_run_in_order(endings, phase):
    endings["Ctrl-C", phase].result()


def test_all_parts_of_a_run_are_different_processes_below_the_launcher(tmp_path):
    launcher, _, found = begun(tmp_path, "load", "delay line")
    end_now(launcher)

    assert set(found) == set(VICTIMS)
    assert len(set(found.values())) == len(VICTIMS)


def test_ctrl_c_before_anything_is_built_is_an_interruption_too(tmp_path):
    launcher, directory = launched(tmp_path)
    wait_for((directory / "status.json").exists, 5, "its status")
    ctrl_c(launcher, directory)


@pytest.mark.usefixtures("hangup")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_of_the_system_is_an_orderly_stop_as_ctrl_c_is(tmp_path, number):
    launcher, directory, _ = begun(tmp_path, "load", "launcher")
    ctrl_c(launcher, directory, number)


@pytest.mark.usefixtures("hangup")
def test_a_closed_terminal_is_an_orderly_stop(tmp_path):
    (tmp_path / "experiment.yaml").write_text(EXPERIMENT.replace("1s", "60s"))
    command = [*STREAMBED, "run", "experiment.yaml", "--no-report"]
    terminal, inner = pty.openpty()
    streams = {"stdin": inner, "stdout": inner, "stderr": inner}
    launcher = subprocess.Popen(
        [sys.executable, "-c", AS_LEADER, *command],
        cwd=tmp_path,
        start_new_session=True,
        **streams,
    )
    os.close(inner)
    directory = wait_for(lambda: only_run(tmp_path / "runs"), 20, "the run's folder")
    wait_for(lambda: "load" in phases(directory), 30, "the load")
    everybody = list(family(launcher.pid))

    os.close(terminal)
    wait_for(lambda: Run(directory).state != "running", 20, "the end of the run")
    launcher.wait(20)

    assert (Run(directory).state, Run(directory).reason) == BY_USER
    assert not any(lives(pid) for pid in everybody)


def test_two_runs_at_once_work_and_say_that_they_share_the_cpu(tmp_path):
    first, directory, _ = begun(tmp_path, "start", "launcher")
    second = start(tmp_path / "experiment.yaml", tmp_path / "others")
    said = [process.communicate(timeout=60)[0] for process in (first, second)]

    assert (first.returncode, second.returncode) == (0, 0), said
    assert "another run is active (ends)" in said[1]
    assert Run(directory).state == "finished"


def test_a_process_that_dies_ends_the_run_with_its_last_lines(tmp_path):
    (tmp_path / "experiment.yaml").write_text(
        EXPERIMENT.replace('[sleep, "1000"]', "[sh, -c, 'echo the dam broke; exit 7']")
    )
    launcher = start(tmp_path / "experiment.yaml", tmp_path / "runs")
    said, _ = launcher.communicate(timeout=30)

    assert launcher.returncode == 3
    assert "sleeper on left ended with status 7" in said
    assert "the dam broke" in said


def test_the_network_of_a_run_is_not_seen_outside(tmp_path):
    before = set(os.listdir("/sys/class/net"))
    launcher, directory, _ = begun(tmp_path, "load", "delay line")
    during = set(os.listdir("/sys/class/net"))
    end_now(launcher)

    assert during == before
    assert json.loads((directory / "plan.json").read_text())["nodes"]
