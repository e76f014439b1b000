"""Every benchmark still works: its smallest form ends with one JSON object."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from tests.support.running import ROOT

pytestmark = pytest.mark.system

NAMES = sorted(path.stem for path in (ROOT / "benchmarks").glob("[a-z]*.py"))
AT_ONCE = 2
"""Nothing is measured here, so several benchmarks can share the machine."""
LIMIT_S = 280
Done = subprocess.CompletedProcess[str]


def quick(name: str) -> Done:
    command = [ROOT / "scripts" / "bench", name, "--quick"]
    return subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)


@pytest.fixture(scope="module")
def started(request: pytest.FixtureRequest) -> Iterator[dict[str, Future[Done]]]:
    """The benchmarks whose tests were chosen, a few at once."""
    chosen = [
        item.callspec.params["name"] for item in request.session.items if item.path == request.path
    ]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        yield {name: pool.submit(quick, name) for name in chosen}


@pytest.mark.parametrize("name", NAMES)
def test_the_quick_form_of_a_benchmark_shows_progress_and_ends_with_json(started, name):
    done = started[name].result()

    assert done.returncode == 0, done.stderr[-3000:]
    *progress, last = done.stdout.splitlines()
    assert json.loads(last)["bench"] == name
    assert progress or done.stderr
