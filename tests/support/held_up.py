"""Tell whether this machine was held up while something was measured.

A machine is held up when the hypervisor takes its processors away, or other programs use them.
This is the one policy for such measurements. Nothing is taken again, so no failure can be forgiven:

- What passes counts, held up or not: a busy machine makes it harder to pass, never easier.
- What fails in calm fails.
- What fails while the machine is held up is `NotMeasured`: it is skipped, and the end of the test
  run lists and counts it. With `scripts/test --strict` the test run then fails.
- After that, the next measurement waits for calm before it begins.
"""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Callable, Generator
from typing import Any, TypeVar

import pytest

NAP_S = 0.002
LATE_S = 0.02
"""A thread that wakes up later than this was held up."""
CALM_S = 1.0
PATIENCE_S = 20.0
EXCUSED = (AssertionError, subprocess.TimeoutExpired)
"""What a machine that is held up can cause. Any other exception is a defect of the test."""

Result = TypeVar("Result")

not_measured: list[str] = []
"""One line for each test that was not measured in calm, for the summary."""


class NotMeasured(pytest.skip.Exception):
    """The machine was held up, so nothing is known."""


class Pulse(threading.Thread):
    """Takes short naps during a block, and notes when it woke up late."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.latest_s = 0.0
        self.late_at_s: list[float] = []
        """When it woke up later than LATE_S, on the monotonic clock."""
        self._over = threading.Event()

    def run(self) -> None:
        before = time.monotonic()
        while not self._over.wait(NAP_S):
            now = time.monotonic()
            late_s = now - before - NAP_S
            self.latest_s = max(self.latest_s, late_s)
            if late_s > LATE_S:
                self.late_at_s.append(now)
            before = now

    @property
    def held_up(self) -> bool:
        return bool(self.late_at_s)

    def held_up_between(self, start_s: float, end_s: float) -> bool:
        return any(start_s <= late_s <= end_s for late_s in self.late_at_s)

    def __enter__(self) -> Pulse:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self.join()


def measure_in_calm(measurement: Callable[[], Result]) -> Result:
    """Return what the measurement returns. Raise what it raises in calm, or `NotMeasured`."""
    if not_measured:
        wait_for_calm()
    with Pulse() as pulse:
        try:
            return measurement()
        except EXCUSED as error:
            failure = error
    if not pulse.held_up:
        raise failure
    reason = f"woken {pulse.latest_s * 1000:.0f} ms late: {first_line(failure)}"
    raise NotMeasured(f"not measured: the machine was held up, {reason}")


def first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]


def wait_for_calm() -> None:
    """Wait until the machine was not held up for CALM_S, but at most PATIENCE_S."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        with Pulse() as pulse:
            time.sleep(CALM_S)
        if not pulse.held_up:
            return


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--all-measured",
        action="store_true",
        help="fail if anything could not be measured because the machine was held up",
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    if call.excinfo and isinstance(call.excinfo.value, NotMeasured):
        not_measured.append(f"{item.nodeid}: {call.excinfo.value}")
    return (yield)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """A worker of xdist has ended: what it could not measure is reported here."""
    not_measured.extend(getattr(node, "workeroutput", {}).get("not_measured", ()))


def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["not_measured"] = not_measured
        return
    # With xdist, the workers have all ended by now.
    strict = session.config.getoption("--all-measured")
    if strict and not_measured and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for line in not_measured:
        terminalreporter.write_line(f"NOT MEASURED {line}")
    if not_measured:
        terminalreporter.write_line(f"{len(not_measured)} not measured in calm")
