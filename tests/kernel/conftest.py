"""Fixtures that measure: a test passes a plan and the name of a measure in measures.py.

A fresh box measures it, on this kernel or in an emulated machine whose kernel has netem.
"""

from __future__ import annotations

import inspect
import tempfile
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.support import held_up
from tests.support.kernel import netem_machine
from tests.support.kernel.boxes import Measure, run_box
from tests.support.kernel.netem_machine import NetemMachine
from tests.support.missing_tools import lack

NETEM = pytest.StashKey[NetemMachine]()


@pytest.fixture
def measure(tmp_path: Path) -> Measure:
    return lambda plan, name: run_box(plan, name, tmp_path)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Boot the machine with netem while other tests run: it takes a minute of one core."""
    if (
        not session.config.option.collectonly
        and any(map(needs_netem, session.items))
        and not netem_machine.lacks()
    ):
        booting = ExitStack()
        session.config.add_cleanup(booting.close)
        folder = booting.enter_context(tempfile.TemporaryDirectory(prefix="netem-"))
        session.config.stash[NETEM] = booting.enter_context(netem_machine.booted(Path(folder)))


def needs_netem(item: pytest.Item) -> bool:
    named = getattr(item, "fixturenames", ())
    return "netem" in named or ("means" in named and item.callspec.params["means"] == "netem")  # type: ignore[attr-defined]


@pytest.fixture(scope="session")
def netem(request: pytest.FixtureRequest) -> NetemMachine:
    """One boot for all tests."""
    if reason := netem_machine.lacks():
        lack(reason)
    return request.config.stash[NETEM]


@pytest.fixture(params=["delay_line", "netem"])
def means(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def measure_both(means: str, measure: Measure, request: pytest.FixtureRequest) -> Measure:
    """Measures once by the delay line and once by netem: both must do the same."""
    return request.getfixturevalue("netem").measure if means == "netem" else measure


@pytest.fixture
def slack_ms(means: str) -> float:
    """How late packets may be; the machine with netem has a slow, emulated processor."""
    return {"delay_line": 1.0, "netem": 3.0}[means]


def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """What fails while the machine is held up says nothing of the network."""
    if "measure" not in pyfuncitem.fixturenames:
        return None
    names = inspect.signature(pyfuncitem.obj).parameters
    arguments = {name: pyfuncitem.funcargs[name] for name in names}
    held_up.measure_in_calm(lambda: pyfuncitem.obj(**arguments))
    return True
