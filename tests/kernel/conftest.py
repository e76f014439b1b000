"""How a test measures: it gives a plan and the name of a measure, and gets what a fresh box found, here or where the kernel has netem."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "net")]  # boxes, small_plans

import netem_machine  # noqa: E402
from boxes import Measure, run_box  # noqa: E402
from netem_machine import NetemMachine  # noqa: E402


@pytest.fixture
def measure(tmp_path: Path) -> Measure:
    return lambda plan, name: run_box(plan, name, tmp_path)


@pytest.fixture(scope="session")
def netem(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[NetemMachine]:
    """One boot for all tests."""
    if reason := netem_machine.lacks():
        request.config.pluginmanager.get_plugin(str(Path(__file__).parents[1] / "conftest.py")).lack(reason)
    with netem_machine.booted(tmp_path_factory.mktemp("netem")) as machine:
        yield machine


@pytest.fixture(params=["delay_line", "netem"])
def means(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def measure_both(means: str, measure: Measure, request: pytest.FixtureRequest) -> Measure:
    """By the delay line here, and by netem there: whatever is measured so must be the same."""
    return request.getfixturevalue("netem").measure if means == "netem" else measure


@pytest.fixture
def slack_ms(means: str) -> float:
    """What packets may take beside their delays; the machine with netem has a slow processor."""
    return {"delay_line": 1.0, "netem": 3.0}[means]
