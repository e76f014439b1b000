"""A failure while the machine is held up is not measured; a failure in calm is a failure."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.support import held_up
from tests.support.held_up import LATE_S, NAP_S, NotMeasured, Pulse, measure_in_calm

ROOT = Path(__file__).parents[1]
PLUGIN = "tests.support.held_up"


class Failing:
    """A measurement that fails and counts how often it was taken."""

    def __init__(self, error: type[Exception] = AssertionError) -> None:
        self.error, self.taken = error, 0

    def __call__(self) -> None:
        self.taken += 1
        raise self.error("7 < 9\nand more")


@pytest.fixture
def busy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Pulse, "held_up", True)


@pytest.fixture
def calm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Pulse, "held_up", False)


def test_what_fails_in_calm_fails(calm: None) -> None:
    with pytest.raises(AssertionError):
        measure_in_calm(Failing())


def test_what_fails_on_a_busy_machine_neither_passes_nor_fails_and_is_not_taken_again(
    busy: None,
) -> None:
    measurement = Failing()

    with pytest.raises(NotMeasured, match=r"the machine was held up, woken \d+ ms late: 7 < 9$"):
        measure_in_calm(measurement)
    assert measurement.taken == 1


def test_what_passes_on_a_busy_machine_counts(busy: None) -> None:
    assert measure_in_calm(lambda: 7) == 7


def test_a_defect_of_the_test_is_not_excused_by_a_busy_machine(busy: None) -> None:
    with pytest.raises(KeyError):
        measure_in_calm(Failing(KeyError))


@pytest.mark.parametrize(("before", "waits"), [([], 0), (["a delay"], 1)])
def test_calm_is_awaited_once_something_could_not_be_measured(
    monkeypatch: pytest.MonkeyPatch, before: list[str], waits: int
) -> None:
    waited: list[bool] = []
    monkeypatch.setattr(held_up, "not_measured", before)
    monkeypatch.setattr(held_up, "wait_for_calm", lambda: waited.append(True))

    measure_in_calm(lambda: None)

    assert len(waited) == waits


@pytest.mark.parametrize(
    ("option", "status"),
    [((), 0), (("--all-measured",), 1), (("--all-measured", "-p", "xdist", "-n", "1"), 1)],
)
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
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == status, done.stdout + done.stderr
    assert "NOT MEASURED test_it.py::test_delay: not measured: busy" in done.stdout
    assert "1 not measured in calm" in done.stdout


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
