"""Faults do to hosts, links and processes what they say, and it is gone when they are healed."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from streambed.errors import WorldError
from streambed.plan import ProcessSpec, Shape
from streambed.record import wait_until
from streambed.runner.process import LiveProcess
from streambed.runner.process_faults.cpu_share import BY_SIGNALS
from tests.support.bare_world import FakeHost
from tests.support.kernel.boxes import Measure
from tests.support.small_plans import MS, pairs_of_switch_and_host, star

pytestmark = pytest.mark.kernel

FAMILY = """
import os, time
if not os.fork():
    os.setpgid(0, 0)  # As Spark's workers do.
while True:
    open(f"ticks.{os.getpid()}", "a").write(".")
    time.sleep(0.01)
"""


def test_separated_hosts_do_not_hear_each_other_but_a_third_hears_both(measure: Measure) -> None:
    measured = measure(pairs_of_switch_and_host(3), "walls")

    everybody = ["h0-h1", "h0-h2", "h1-h0", "h1-h2", "h2-h0", "h2-h1"]
    assert measured["before"] == everybody
    assert measured["during"] == measured["healed once"] == ["h0-h2", "h1-h2", "h2-h0", "h2-h1"]
    assert measured["after"] == everybody


def test_a_deaf_host_is_heard_by_those_it_does_not_hear(measure: Measure) -> None:
    found = measure(pairs_of_switch_and_host(2), "deaf")

    assert found["heard"] == {"h0": 0, "h1": 1}
    assert found["after"]


def test_packets_sent_during_a_jam_arrive_when_it_heals(measure: Measure) -> None:
    found = measure(star(Shape(delay_ns=MS)), "jammed")

    assert (found["during"], found["after"]) == (0, 5)
    assert found["released_ms"] < 500 and found["round_trip_ms"] < 100


def test_a_link_that_loses_for_a_while_loses_single_packets(measure: Measure) -> None:
    missed = measure(star(Shape(delay_ns=MS)), "lossy")["missed"]

    assert set(missed) <= {"1", "2", "3"} and missed["1"] >= 2


def test_a_link_without_a_rate_gets_one_and_loses_it_again(measure: Measure) -> None:
    measured = measure(star(Shape(delay_ns=MS)), "narrowed")

    assert 9 < measured["during"] < 11
    assert min(measured["before"], measured["after"]) > 50


@pytest.fixture
def process(tmp_path: Path) -> Iterator[LiveProcess]:
    """A process with a child in a separate group."""
    (tmp_path / "logs").mkdir()
    spec = ProcessSpec(
        name="family",
        component="family",
        node="here",
        argv=(sys.executable, "-c", FAMILY),
        cwd=str(tmp_path),
    )
    live = LiveProcess(spec, FakeHost(), tmp_path, lambda event, **fields: None)  # type: ignore[arg-type]
    live.start()
    assert wait_until(lambda: len(ticks(tmp_path)) == 2, limit_s=5)
    yield live
    live.kill_and_reap()


def ticks(folder: Path) -> dict[str, int]:
    return {file.name: file.stat().st_size for file in folder.glob("ticks.*")}


def stands_still(folder: Path) -> bool:
    before = ticks(folder)
    wait_until(lambda: False, limit_s=0.1)
    return ticks(folder) == before


def test_a_process_paused_twice_continues_with_its_children_when_healed_twice(
    process: LiveProcess, tmp_path: Path
) -> None:
    heals = [process.pause(), process.pause()]

    assert stands_still(tmp_path)
    heals[0]()
    assert stands_still(tmp_path)
    heals[1]()
    before = ticks(tmp_path)
    assert wait_until(
        lambda: all(size > before[name] for name, size in ticks(tmp_path).items()), limit_s=5
    )


def test_a_process_killed_while_paused_dies_and_its_next_life_is_not_paused(
    process: LiveProcess, tmp_path: Path
) -> None:
    end_pause, revive = process.pause(), process.kill()

    assert not process.alive
    revive()
    assert wait_until(lambda: len(ticks(tmp_path)) == 4, limit_s=5)
    end_pause()
    assert process.alive


def test_a_process_killed_twice_stays_dead_until_both_are_healed(process: LiveProcess) -> None:
    heals = [process.kill(), process.kill()]

    heals[1]()
    assert not process.alive
    heals[0]()
    assert process.alive


def test_a_process_that_does_not_run_cannot_be_paused(process: LiveProcess) -> None:
    process.kill_and_reap()

    with pytest.raises(WorldError, match="family is not running"):
        process.pause()


def test_a_process_that_is_asked_to_end_is_started_again_when_healed(
    process: LiveProcess, tmp_path: Path
) -> None:
    heal = process.stop()

    assert wait_until(lambda: not process.alive, limit_s=5)
    heal()
    assert process.alive
    assert wait_until(lambda: len(ticks(tmp_path)) == 4, limit_s=5)


def test_a_child_can_be_killed_alone(process: LiveProcess, tmp_path: Path) -> None:
    (child,) = process.children((sys.executable, "-c"))

    child.kill()

    assert wait_until(lambda: not child.alive, limit_s=5)
    assert process.alive


BUSY = "while True: pass"


def cpu_share(pid: int) -> float:
    """CPU time per second of a process, over a second."""

    def used_s() -> float:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")

    before_s, start = used_s(), time.monotonic()
    wait_until(lambda: False, limit_s=1.0)
    return (used_s() - before_s) / (time.monotonic() - start)


def test_a_process_without_a_group_is_slowed_down_by_signals(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    argv = (sys.executable, "-c", BUSY)
    spec = ProcessSpec(name="busy", component="busy", node="here", argv=argv, cwd=str(tmp_path))
    live = LiveProcess(spec, FakeHost(), tmp_path, lambda event, **fields: None)  # type: ignore[arg-type]
    live.start()
    try:
        heal, how = live.slow(0.2)
        slow = cpu_share(live.pid)
        heal()
        free = cpu_share(live.pid)
    finally:
        live.kill_and_reap()

    assert how == BY_SIGNALS
    assert slow < 0.35 and slow < 0.6 * free
