"""A skewed clock, measured inside the processes that see it."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks import _skew
from streambed.errors import WorldError
from streambed.net.tampering.vdso import image, vdso_of
from streambed.plan import ProcessSpec
from streambed.record import wait_until
from streambed.runner.process import LiveProcess, session_members
from tests.support import held_up
from tests.support.bare_world import FakeHost

pytestmark = pytest.mark.kernel

HOUR_NS = 3600 * 10**9
NEAR_NS = 10**9
FAMILY = """
import os, subprocess, sys, time
if sys.argv[1:] != ["child"]:
    subprocess.Popen([sys.executable, "-c", os.environ["FAMILY"], "child"])
    os.fork()
while True:
    with open(f"{os.getpid()}.part", "w") as file:
        file.write(f"{time.time_ns() - time.monotonic_ns()}")
    os.rename(file.name, f"clock.{os.getpid()}")
    if os.path.exists("spawn") and sys.argv[1:] != ["child"]:
        os.remove("spawn")
        subprocess.Popen([sys.executable, "-c", os.environ["FAMILY"], "child"])
    time.sleep(0.005)
"""


def test_a_wall_clock_is_off_by_what_was_declared_and_timed_waits_are_not() -> None:
    def measure() -> None:
        figures = _skew.measure()
        assert "python" in figures
        for runtime, figure in figures.items():
            assert figure["wall_error_ms"] <= 1, runtime
            assert figure["wait_error_ms"] <= 2, runtime

    held_up.measure_in_calm(measure)


@pytest.fixture
def family(tmp_path: Path) -> Iterator[LiveProcess]:
    """A process, a child by fork, and a child that runs another program."""
    (tmp_path / "logs").mkdir()
    spec = ProcessSpec(
        name="family",
        component="family",
        node="here",
        argv=(sys.executable, "-c", FAMILY),
        env={"FAMILY": FAMILY},
        cwd=str(tmp_path),
    )
    live = LiveProcess(spec, FakeHost(), tmp_path, lambda event, **fields: None)  # type: ignore[arg-type]
    live.start()
    assert wait_until(lambda: len(clocks(tmp_path)) == 3, limit_s=5)
    yield live
    live.kill_and_reap()


def clocks(folder: Path) -> dict[str, int]:
    """The wall clock less the monotonic clock, as each process sees it."""
    return {file.name: int(file.read_text()) for file in folder.glob("clock.*")}


def all_ahead(folder: Path, right_ns: int, ahead_ns: int, count: int) -> bool:
    seen = clocks(folder).values()
    ahead = [clock for clock in seen if abs(clock - right_ns - ahead_ns) < NEAR_NS]
    return len(seen) == len(ahead) == count


def test_children_see_the_skewed_clock_also_those_that_start_later(
    family: LiveProcess, tmp_path: Path
) -> None:
    right_ns = max(clocks(tmp_path).values())
    heal = family.clock.skew(ahead_ns=HOUR_NS, rate=0.0)

    assert wait_until(lambda: all_ahead(tmp_path, right_ns, HOUR_NS, 3), limit_s=5)
    (tmp_path / "spawn").touch()
    assert wait_until(lambda: all_ahead(tmp_path, right_ns, HOUR_NS, 4), limit_s=5)
    heal()
    assert wait_until(lambda: all_ahead(tmp_path, right_ns, 0, 4), limit_s=5)


def test_the_next_life_of_a_process_has_the_skewed_clock_until_it_is_healed(
    family: LiveProcess, tmp_path: Path
) -> None:
    right_ns = max(clocks(tmp_path).values())
    heal = family.clock.skew(ahead_ns=-HOUR_NS, rate=0.0)
    revive = family.kill()
    for file in tmp_path.glob("clock.*"):
        file.unlink()
    revive()

    assert wait_until(lambda: all_ahead(tmp_path, right_ns, -HOUR_NS, 3), limit_s=5)
    heal()
    assert wait_until(lambda: all_ahead(tmp_path, right_ns, 0, 3), limit_s=5)


def test_skews_add_up_and_a_healed_process_has_the_functions_that_the_kernel_made(
    family: LiveProcess, tmp_path: Path
) -> None:
    right_ns = max(clocks(tmp_path).values())
    heals = [family.clock.skew(ahead_ns=HOUR_NS, rate=0.0) for _ in range(2)]

    assert wait_until(lambda: all_ahead(tmp_path, right_ns, 2 * HOUR_NS, 3), limit_s=5)
    heals[0]()
    assert wait_until(lambda: all_ahead(tmp_path, right_ns, HOUR_NS, 3), limit_s=5)
    heals[1]()
    with vdso_of(family.pid) as copy:
        assert copy.content()[: image().room] == image().content[: image().room]


def test_a_paused_process_stays_paused_while_its_clock_is_skewed(
    family: LiveProcess, tmp_path: Path
) -> None:
    resume = family.pause()
    heal = family.clock.skew(ahead_ns=HOUR_NS, rate=0.0)

    states = [
        Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        for pid in session_members(family.pid)
    ]
    assert states == ["T", "T", "T"]
    resume()
    heal()


def test_a_process_that_does_not_run_has_no_clock_to_skew(family: LiveProcess) -> None:
    os.kill(family.pid, signal.SIGKILL)
    family.kill_and_reap()

    with pytest.raises(WorldError, match="not running"):
        family.clock.skew(ahead_ns=1, rate=0.0)


def test_times_that_a_process_saw_lead_back_to_the_true_time(family: LiveProcess) -> None:
    heal = family.clock.skew(ahead_ns=HOUR_NS, rate=0.0)
    true_ns = time.time_ns()
    heal()

    assert family.clock.true_ns(true_ns + HOUR_NS) == true_ns
    assert family.clock.true_ns(true_ns - HOUR_NS) == true_ns - HOUR_NS
