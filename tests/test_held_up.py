"""A measurement is taken again if it fails while the machine is held up, and only then."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.support import held_up
from tests.support.held_up import ATTEMPTS, LATE_S, NAP_S, NotMeasured, Pulse, measure_in_calm

ROOT = Path(__file__).parents[1]
PLUGIN = "tests.support.held_up"


class Failing:
    """A measurement that fails the first `times`, then returns 7."""

    def __init__(self, times: int, error: type[Exception] = AssertionError) -> None:
        self.times, self.error, self.attempts = times, error, 0

    def __call__(self) -> int:
        self.attempts += 1
        if self.attempts <= self.times:
            raise self.error("7 < 9\nand more")
        return 7


@pytest.fixture
def busy(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The machine is held up all the time. Returns the lines about repeated measurements."""
    monkeypatch.setattr(Pulse, "held_up", True)
    monkeypatch.setattr(held_up, "wait_for_calm", lambda: None)
    monkeypatch.setattr(held_up, "repeated", [])
    return held_up.repeated


@pytest.fixture
def calm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Pulse, "held_up", False)


def test_what_fails_in_calm_fails_at_once(calm: None) -> None:
    measurement = Failing(times=1)

    with pytest.raises(AssertionError):
        measure_in_calm(measurement)
    assert measurement.attempts == 1


def test_what_fails_on_a_busy_machine_is_measured_again_and_reported(busy: list[str]) -> None:
    assert measure_in_calm(Failing(times=1)) == 7

    (line,) = busy
    assert "test_what_fails_on_a_busy_machine" in line
    assert line.endswith(" ms late: 7 < 9")


def test_what_passes_on_a_busy_machine_is_measured_once(busy: list[str]) -> None:
    measurement = Failing(times=0)

    assert measure_in_calm(measurement) == 7
    assert measurement.attempts == 1 and busy == []


def test_what_was_never_measured_in_calm_neither_passes_nor_fails(busy: list[str]) -> None:
    measurement = Failing(times=ATTEMPTS)

    with pytest.raises(NotMeasured, match=f"held up at each of {ATTEMPTS} attempts"):
        measure_in_calm(measurement)
    assert measurement.attempts == ATTEMPTS


def test_a_defect_of_the_test_is_not_excused_by_a_busy_machine(busy: list[str]) -> None:
    with pytest.raises(KeyError):
        measure_in_calm(Failing(times=1, error=KeyError))


@pytest.mark.parametrize(("option", "status"), [((), 0), (("--all-measured",), 1)])
def test_a_test_run_lists_what_was_not_measured_and_fails_if_asked(
    tmp_path: Path, option: tuple[str, ...], status: int
) -> None:
    (tmp_path / "test_it.py").write_text(
        "from tests.support.held_up import NotMeasured\n"
        "def test_delay():\n"
        "    raise NotMeasured('not measured: busy')\n"
    )
    pytest_argv = [sys.executable, "-m", "pytest", "-p", PLUGIN, "-p", "no:cacheprovider"]

    done = subprocess.run(
        [*pytest_argv, "--rootdir", tmp_path, *option, tmp_path],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == status, done.stdout + done.stderr
    assert "NOT MEASURED test_it.py::test_delay: not measured: busy" in done.stdout
    assert "0 measured again, 1 not measured in calm" in done.stdout


def test_a_thread_that_wakes_up_late_was_held_up(monkeypatch: pytest.MonkeyPatch) -> None:
    late_at = NAP_S * 2 + LATE_S * 1.5
    times = iter([0.0, NAP_S, late_at])
    monkeypatch.setattr(held_up, "time", SimpleNamespace(monotonic=lambda: next(times)))
    waits = iter([False, False, True])
    pulse = Pulse()
    monkeypatch.setattr(pulse._over, "wait", lambda _: next(waits))

    pulse.run()

    assert pulse.latest_s == pytest.approx(LATE_S * 1.5)
    assert pulse.held_up
    assert pulse.held_up_between(NAP_S, late_at)
    assert not pulse.held_up_between(0, NAP_S)
