"""Starts a fresh process of box.py for one measurement."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import streambed
from streambed import plan as plans
from streambed.plan import Plan

ROOT = Path(__file__).parents[3]
LIMIT_S = 30
SOURCE = str(Path(streambed.__file__).parents[1])

Measure = Callable[..., dict[str, Any]]


def run_box(
    plan: Plan,
    name: str,
    folder: Path,
    *,
    interpreter: str = sys.executable,
    path: str = SOURCE,
    user: int | None = None,
) -> dict[str, Any]:
    """What a fresh box found."""
    plans.write(plan, folder / "plan.json")
    argv = [interpreter, "-m", "tests.support.kernel.box"]
    argv += [str(folder / "plan.json"), str(folder), name]
    environment = os.environ | {"PYTHONPATH": path}
    done = subprocess.run(
        argv,
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        user=user,
        group=user,
    )
    assert done.returncode == 0, done.stderr
    measured: dict[str, Any] = json.loads(done.stdout)
    return measured
