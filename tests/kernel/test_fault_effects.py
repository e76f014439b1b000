"""Faults do to hosts, links and processes what they say, and it is gone when they are healed."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from boxes import Measure

from streambed.errors import WorldError
from streambed.plan import ProcessSpec, Shape
from streambed.record import wait_until
from streambed.runner.process import LiveProcess
from tests.net.small_plans import MS, pairs_of_switch_and_host, star

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
    found = measure(pairs_of_switch_and_host(3), "walls")

    everybody = ["h0-h1", "h0-h2", "h1-h0", "h1-h2", "h2-h0", "h2-h1"]
    assert found["before"] == everybody
    assert found["during"] == found["healed once"] == ["h0-h2", "h1-h2", "h2-h0", "h2-h1"]
    assert found["after"] == everybody


def test_a_link_that_loses_for_a_while_loses_single_packets(measure: Measure) -> None:
    missed = measure(star(Shape(delay_ns=MS)), "lossy")["missed"]

    assert set(missed) <= {"1", "2", "3"} and missed["1"] >= 2


def test_a_link_without_a_rate_gets_one_and_loses_it_again(measure: Measure) -> None:
    found = measure(star(Shape(delay_ns=MS)), "narrowed")

    assert 9 < found["during"] < 11
    assert min(found["before"], found["after"]) > 50


class Here:
    """The host that this test runs on."""

    def call(self, function: Any) -> Any:
        return function()


@pytest.fixture
def process(tmp_path: Path) -> Iterator[LiveProcess]:
    """A process with a child in a group of its own."""
    (tmp_path / "logs").mkdir()
    spec = ProcessSpec(
        name="family",
        component="family",
        node="here",
        argv=(sys.executable, "-c", FAMILY),
        cwd=str(tmp_path),
    )
    live = LiveProcess(spec, Here(), tmp_path, lambda event, **fields: None)  # type: ignore[arg-type]
    live.start()
    assert wait_until(lambda: len(ticks(tmp_path)) == 2, limit_s=5)
    yield live
    live.kill()


def ticks(folder: Path) -> dict[str, int]:
    return {file.name: file.stat().st_size for file in folder.glob("ticks.*")}


def stands_still(folder: Path) -> bool:
    before = ticks(folder)
    wait_until(lambda: False, limit_s=0.1)
    return ticks(folder) == before


def test_a_process_paused_twice_goes_on_with_its_children_when_it_was_healed_twice(
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
    end_pause, revive = process.pause(), process.strike()

    assert not process.alive
    revive()
    assert wait_until(lambda: len(ticks(tmp_path)) == 4, limit_s=5)
    end_pause()
    assert process.alive


def test_a_process_killed_twice_stays_dead_until_both_are_healed(process: LiveProcess) -> None:
    heals = [process.strike(), process.strike()]

    heals[1]()
    assert not process.alive
    heals[0]()
    assert process.alive


def test_a_process_that_does_not_run_cannot_be_paused(process: LiveProcess) -> None:
    process.kill()

    with pytest.raises(WorldError, match="family is not running"):
        process.pause()
