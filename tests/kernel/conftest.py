"""How a test measures: it gives a plan and the name of a measure, and gets what a fresh box found."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "net")]  # boxes, small_plans

from boxes import Measure, run_box  # noqa: E402


@pytest.fixture
def measure(tmp_path: Path) -> Measure:
    return lambda plan, name: run_box(plan, name, tmp_path)
